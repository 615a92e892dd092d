// SPDX-License-Identifier: MIT
#include "gate/rank_test.h"

#include <cmath>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/analysis/near.h"

namespace stallprof {
namespace {

bool exactly(Maybe<double> value, double expected) { return test::equals(value, expected, 1e-12); }

std::vector<double> row(int count, double from) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(from + i);
  return out;
}

}  // namespace

TEST_CASE("sides apart have the chance of one order in all orders") {
  const auto five = rankTest(row(5, 0), row(5, 10), 0.02);
  REQUIRE(five);
  CHECK(exactly(five->worse, 1.0 / 252));  // C(10, 5)
  CHECK(exactly(five->better, 1));
  CHECK(exactly(five->size, 10));
  const auto eight = rankTest(row(8, 10), row(8, 0), 0.02);
  REQUIRE(eight);
  CHECK(exactly(eight->better, 1.0 / 12870));  // C(16, 8)
}

TEST_CASE("the bounds are the differences that tables of the test name") {
  // Two of 25 differences may be wrong at one-sided 0.02 (0.0159; three have 0.0278): the third
  // from either end bounds. Differences of 1 2 4 8 16 and the same times 100, worked by hand.
  const std::vector<double> base = {1, 2, 4, 8, 16}, head = {100, 200, 400, 800, 1600};
  const auto test = rankTest(base, head, 0.02);
  REQUIRE(test);
  CHECK(exactly(test->low, 96));     // 84, 92, 96
  CHECK(exactly(test->high, 1596));  // 1599, 1598, 1596
  CHECK(exactly(test->size, 396));   // ten under 200, then 384 392 396
}

TEST_CASE("equal values stand at their middle place") {
  // 1 | 1 1, all ranks 2: whatever is drawn, it is this.
  const std::vector<double> same(8, 1.0);
  const auto none = rankTest(same, same, 0.02);
  REQUIRE(none);
  CHECK(exactly(none->worse, 1));
  CHECK(exactly(none->better, 1));
  // 0 0 0 0 1 against 1 1 1 1 0: of C(10, 5) draws of five from five 0s and five 1s, those with
  // four or five 1s are 25 + 1.
  const std::vector<double> base = {0, 0, 0, 0, 1}, head = {1, 1, 1, 1, 0};
  const auto some = rankTest(base, head, 0.02);
  REQUIRE(some);
  CHECK(exactly(some->worse, 26.0 / 252));
}

TEST_CASE("too few values to be rare are not tested by their order") {
  CHECK(rankTest(row(4, 0), row(4, 9), 0.02));        // one of 70
  CHECK_FALSE(rankTest(row(3, 0), row(3, 9), 0.02));  // one of 20 at best
  CHECK_FALSE(rankTest(row(5, 0), row(5, 9), 0.001));
  CHECK_FALSE(rankTest({}, row(5, 9), 0.02));
}

TEST_CASE("many values are judged as a few are") {
  // 50 a side is exact, 51 normal: the same interleaved rows, nearly the same chance.
  const auto chance = [](int count) {
    return rankTest(row(count, 0), row(count, 8.25), 0.02)->worse;
  };
  const double exact = chance(50);
  CHECK(exact > 0.001);
  CHECK(exact < 0.02);
  CHECK(std::abs(std::log(exact / chance(51))) < 0.2);
}

}  // namespace stallprof
