// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stallprof {

// LEB128: seven bits a byte, least significant first, high bit set on all but the last byte.
inline constexpr std::size_t kVarintLimit = 10;

inline std::uint8_t* putVarint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

// Signed numbers near zero, either side, as small unsigned ones: 0, -1, 1, -2, ...
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

// Reads from untrusted bytes; never past their end. After a number that is cut off or longer than
// 64 bits, `bad` stays true, the rest is skipped and every further read gives 0.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool empty() const { return at_ == end_; }
  [[nodiscard]] bool bad() const { return bad_; }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  std::uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;  // most fields are small
    return longVarint();
  }

  std::span<const std::uint8_t> bytes(std::size_t count) {
    if (count > left()) {
      fail();
      return {};
    }
    const std::span<const std::uint8_t> taken(at_, count);
    at_ += count;
    return taken;
  }

 private:
  // Not inlined, so that `varint` is.
  [[gnu::noinline]] std::uint64_t longVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const std::uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  void fail() {
    bad_ = true;
    at_ = end_;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool bad_ = false;
};

}  // namespace stallprof
