// SPDX-License-Identifier: MIT
#include "sampler/python/runtime/line_table.h"

#include <vector>

#include "tests/catch.h"

using namespace stallprof::python;

namespace {

using Table = std::vector<std::uint8_t>;

using Lines = std::vector<std::uint32_t>;

std::uint8_t minus(int delta) { return static_cast<std::uint8_t>(-delta); }

// Of the code at each offset.
Lines linesOf(LineFormat format, const Table& table, std::uint32_t first,
              const std::vector<std::int64_t>& offsets) {
  Lines lines;
  for (const std::int64_t offset : offsets) lines.push_back(lineOf(format, table, first, offset));
  return lines;
}

}  // namespace

TEST_CASE("up to 3.9 a pair says how far to go until a line that may lie before") {
  const Table table = {0, 1, 10, 5, 8, minus(3)};  // from 0: 11, from 10: 16, from 18: 13
  CHECK(linesOf(LineFormat::kLnotab, table, 10, {0, 9, 10, 400, -1}) == Lines{11, 11, 16, 13, 10});
}

TEST_CASE("in 3.10 a pair says up to where a line goes, and some code has none") {
  const Table table = {8, 1, 4, 0x80, 6, minus(2)};
  CHECK(linesOf(LineFormat::kLinetable, table, 10, {7, 8, 12}) == Lines{11, 0, 9});
  CHECK(lineOf(LineFormat::kLinetable, table, 10, 18) == 0);  // past the end
}

TEST_CASE("from 3.11 an entry is of one of five shapes") {
  const auto head = [](unsigned kind, unsigned units) {
    return static_cast<std::uint8_t>(0x80 | kind << 3 | (units - 1));
  };
  const Table table = {head(3, 2),  0x12,  // short, same line
                       head(11, 1), 4,
                       9,                           // next line
                       head(15, 1),                 // none
                       head(13, 3), 0x0a << 0 | 1,  // no columns: -5
                       head(14, 8), 0x68,
                       0x01,        0,
                       0,           0};  // long: +(0x28 | 1 << 6) / 2 = 52
  CHECK(linesOf(LineFormat::kLocations, table, 100, {1, 2, 3, 4, 7, 15, -1}) ==
        Lines{100, 101, 0, 96, 148, 0, 100});
}

TEST_CASE("tables of any bytes, cut anywhere, give a line or none") {
  std::uint64_t random = 88172645463325252ull;
  for (int round = 0; round < 20'000; ++round) {
    Table table;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    for (std::uint64_t i = 0; i < random % 40; ++i)
      table.push_back(static_cast<std::uint8_t>((random >> (i % 50)) * 31 + i));
    for (const LineFormat format :
         {LineFormat::kLnotab, LineFormat::kLinetable, LineFormat::kLocations})
      CHECK(lineOf(format, table, static_cast<std::uint32_t>(random >> 33),
                   static_cast<std::int64_t>(random % 300) - 1) < (1u << 30));
  }
}
