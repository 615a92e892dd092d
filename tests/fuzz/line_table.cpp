// SPDX-License-Identifier: MIT
// Line tables of every version: the first byte is the version, four more the first line, two the
// instruction that is asked for. The answer for any table is a line that can be, or none.
#include "sampler/python/runtime/line_table.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallprof::python;
  if (size < 7) return 0;
  std::uint32_t firstLine = 0;
  std::uint16_t index = 0;
  std::memcpy(&firstLine, data + 1, sizeof firstLine);
  std::memcpy(&index, data + 5, sizeof index);
  const std::span<const std::uint8_t> table(data + 7, size - 7);
  const std::uint32_t line =
      lineOf(static_cast<LineFormat>(data[0] % 3), table, firstLine, std::int64_t{index} - 1);
  if (line >= 1u << 30) std::abort();
  return 0;
}
