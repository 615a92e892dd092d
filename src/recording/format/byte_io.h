// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  // The eight groups of seven bits, put together by two, by four, and all.
  static std::uint64_t withoutTopBits(std::uint64_t word) {
    word = (word & 0x007F007F007F007F) | (word & 0x7F007F007F007F00) >> 1;
    word = (word & 0x00003FFF00003FFF) | (word & 0x3FFF00003FFF0000) >> 2;
    return (word & 0x000000000FFFFFFF) | (word & 0x0FFFFFFF00000000) >> 4;
  }
  // Not inlined, so that `varint` is.
  [[gnu::noinline]] std::uint64_t longVarint() {
    if (left() >= sizeof(std::uint64_t)) {
      std::uint64_t word;  // the first byte is its lowest
      static_assert(std::endian::native == std::endian::little);
      std::memcpy(&word, at_, sizeof word);
      // The number's last byte is the first whose top bit is not set.
      if (const std::uint64_t last = ~word & 0x8080808080808080; last != 0) {
        at_ += std::countr_zero(last) / 8 + 1;
        return withoutTopBits(word & (last ^ (last - 1)));
      }
    }
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
