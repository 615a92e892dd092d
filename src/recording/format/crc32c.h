// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallprof {

// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78, as in iSCSI, RFC 3720 B.4). Pass the former
// result as `crc` to go on over more bytes. By the CPU's instruction where it has one.
[[nodiscard]] std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t crc = 0);

// The table-driven one, everywhere; for the test that both agree.
[[nodiscard]] std::uint32_t crc32cPortable(const void* bytes, std::size_t size,
                                           std::uint32_t crc = 0);

}  // namespace stallprof
