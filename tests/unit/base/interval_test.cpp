// SPDX-License-Identifier: MIT
#include "base/interval.h"

#include <string>

#include "tests/catch.h"

using namespace stallprof;
using namespace std::chrono_literals;

TEST_CASE("intervals join where they touch, and divide an interval without a gap") {
  const Intervals all = joined({{30ns, 40ns}, {10ns, 20ns}, {20ns, 25ns}, {35ns, 38ns}});
  REQUIRE(all.size() == 2);
  CHECK(all[0].begin == 10ns);
  CHECK(all[0].end == 25ns);
  CHECK(all[1].end == 40ns);
  CHECK(lengthIn(all, {0ns, 100ns}) == 25ns);
  CHECK(lengthIn(all, {22ns, 32ns}) == 5ns);
  CHECK(lengthIn(all, {25ns, 30ns}) == 0ns);
  std::string seen;
  divide(all, {5ns, 45ns}, [&](const Interval& i, bool in) {
    seen +=
        std::to_string(i.begin.count()) + (in ? "+" : "-") + std::to_string(i.end.count()) + " ";
  });
  CHECK(seen == "5-10 10+25 25-30 30+40 40-45 ");
}

TEST_CASE("two intervals overlap by what is in both, and not where they only touch") {
  const Interval a{10ns, 20ns};
  CHECK(intersect(a, {15ns, 30ns}) == Interval{15ns, 20ns});
  CHECK(overlap(a, {15ns, 30ns}) == 5ns);
  CHECK(overlap(a, {20ns, 30ns}) == 0ns);
  CHECK(overlap(a, {25ns, 30ns}) == 0ns);
  CHECK(intersect(a, {25ns, 30ns}).empty());
  CHECK(a.overlaps({0ns, 11ns}));
  CHECK_FALSE(a.overlaps({0ns, 10ns}));
  CHECK(overlapsAny({{30ns, 40ns}, {0ns, 11ns}}, a));
  CHECK_FALSE(overlapsAny({{30ns, 40ns}, {0ns, 10ns}}, a));
}

TEST_CASE("an interval contains its begin and not its end") {
  const Interval a{10ns, 20ns};
  CHECK(a.contains(10ns));
  CHECK_FALSE(a.contains(20ns));
  CHECK(a.contains(Interval{10ns, 20ns}));
  CHECK_FALSE(a.contains(Interval{10ns, 21ns}));
  const Intervals all{{10ns, 20ns}, {30ns, 40ns}};
  CHECK(containsAny(all, 39ns));
  CHECK_FALSE(containsAny(all, 20ns));
  CHECK_FALSE(containsAny(all, 40ns));
}

TEST_CASE("dividing by items names the item of each piece, cut to the interval") {
  struct Named : Interval {
    char name;
  };
  const std::vector<Named> items{{{0ns, 10ns}, 'a'}, {{10ns, 20ns}, 'b'}, {{30ns, 50ns}, 'c'}};
  std::string seen;
  divide(items, {5ns, 40ns}, [&](const Interval& piece, const Named* item) {
    seen += (item ? item->name : '.') + std::to_string(piece.length().count()) + " ";
  });
  CHECK(seen == "a5 b10 .10 c10 ");
  divide(items, {40ns, 40ns}, [&](const Interval&, const Named*) { FAIL("nothing to divide"); });
}
