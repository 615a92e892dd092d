// SPDX-License-Identifier: MIT
#include "analysis/steps/pieces.h"

#include <string>

#include "tests/catch.h"

using namespace stallprof;

namespace {

Piece piece(int begin, int end, char name) {
  return {{Nanos{begin}, Nanos{end}},
          Piece::Kind::kPhase,
          Phase::kOther,
          static_cast<std::uint32_t>(name)};
}

// "0a5 5b9": a from 0 to 5, then b to 9.
std::string shown(const Timeline& timeline) {
  std::string text;
  for (const Piece& p : timeline)
    text += (text.empty() ? "" : " ") + std::to_string(p.begin.count()) +
            static_cast<char>(p.index) + std::to_string(p.end.count());
  return text;
}

}  // namespace

TEST_CASE("of nested pieces the inner one is kept, and the outer around it") {
  CHECK(shown(flatten({piece(0, 10, 'a'), piece(3, 6, 'b'), piece(4, 5, 'c')})) ==
        "0a3 3b4 4c5 5b6 6a10");
}

TEST_CASE("pieces that begin together nest by length, whatever order they come in") {
  CHECK(shown(flatten({piece(0, 4, 'b'), piece(0, 10, 'a')})) == "0b4 4a10");
}

TEST_CASE("of pieces that cross, the later one has what both claim") {
  CHECK(shown(flatten({piece(0, 10, 'a'), piece(5, 15, 'b')})) == "0a5 5b15");
  CHECK(shown(flatten({piece(0, 10, 'a'), piece(2, 12, 'b'), piece(4, 6, 'c')})) ==
        "0a2 2b4 4c6 6b12");
}

TEST_CASE("pieces of no length vanish, gaps stay, and nothing gives nothing") {
  CHECK(shown(flatten({piece(0, 2, 'a'), piece(1, 1, 'b'), piece(7, 9, 'c')})) == "0a1 1a2 7c9");
  CHECK(flatten({}).empty());
  CHECK(keepOuter({}).empty());
  CHECK(overlay({}, {}).empty());
}

TEST_CASE("keepOuter gives what both claim to the one that began earlier") {
  CHECK(shown(keepOuter({piece(3, 6, 'b'), piece(0, 10, 'a'), piece(8, 14, 'c')})) == "0a10 10c14");
}

TEST_CASE("an overlay wins where it lies, over one piece, over several, and beside them") {
  const Timeline base = {piece(0, 10, 'a'), piece(12, 20, 'b'), piece(20, 30, 'c')};
  CHECK(shown(overlay(base, {piece(2, 4, 'x')})) == "0a2 2x4 4a10 12b20 20c30");
  CHECK(shown(overlay(base, {piece(5, 25, 'x')})) == "0a5 5x25 25c30");
  CHECK(shown(overlay(base, {piece(5, 11, 'x'), piece(11, 12, 'y')})) ==
        "0a5 5x11 11y12 12b20 20c30");
  CHECK(shown(overlay(base, {piece(10, 12, 'x'), piece(40, 50, 'y')})) ==
        "0a10 10x12 12b20 20c30 40y50");
  CHECK(shown(overlay(base, {})) == shown(base));
  CHECK(shown(overlay({}, base)) == shown(base));
}
