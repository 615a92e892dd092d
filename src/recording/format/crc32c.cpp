// SPDX-License-Identifier: MIT
#include "recording/format/crc32c.h"

#include <array>
#include <cstring>

namespace stallprof {
namespace {

constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32cHardware(const void* bytes, std::size_t size,
                                                               std::uint32_t crc) {
  const auto* at = static_cast<const std::uint8_t*>(bytes);
  std::uint64_t state = ~crc;
  for (; size >= 8; size -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state = __builtin_ia32_crc32di(state, word);
  }
  auto tail = static_cast<std::uint32_t>(state);
  for (; size > 0; --size) tail = __builtin_ia32_crc32qi(tail, *at++);
  return ~tail;
}

bool hasInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#else
std::uint32_t crc32cHardware(const void* bytes, std::size_t size, std::uint32_t crc) {
  return crc32cPortable(bytes, size, crc);
}
bool hasInstruction() { return false; }
#endif

}  // namespace

std::uint32_t crc32cPortable(const void* bytes, std::size_t size, std::uint32_t crc) {
  const auto* at = static_cast<const std::uint8_t*>(bytes);
  crc = ~crc;
  for (; size > 0; --size) crc = crc >> 8 ^ kTable[(crc ^ *at++) & 0xFF];
  return ~crc;
}

std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t crc) {
  static const bool kHardware = hasInstruction();
  return kHardware ? crc32cHardware(bytes, size, crc) : crc32cPortable(bytes, size, crc);
}

}  // namespace stallprof
