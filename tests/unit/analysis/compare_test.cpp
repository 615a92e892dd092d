// SPDX-License-Identifier: MIT
#include "analysis/compare.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/unit/analysis/near.h"

namespace stallprof {
namespace {

using test::near;

}  // namespace

TEST_CASE("Student's quantiles are the table's") {
  CHECK(near(studentQuantile(0.95, 1), 12.7062, 1e-3));
  CHECK(near(studentQuantile(0.95, 2), 4.30265, 1e-4));
  CHECK(near(studentQuantile(0.95, 8), 2.30600, 1e-4));
  CHECK(near(studentQuantile(0.99, 4), 4.60409, 1e-4));
  CHECK(near(studentQuantile(0.95, 30), 2.04227, 1e-4));
  CHECK(near(studentQuantile(0.95, 100'000), 1.95998, 1e-3));
}

TEST_CASE("Welch's interval is a ratio, as worked by hand") {
  // logs: base 0, 0.2 (mean 0.1, variance 0.02), head 1.0, 1.2: freedom 2, error sqrt(0.02).
  const std::vector<double> base = {1, std::exp(0.2)}, head = {std::exp(1.0), std::exp(1.2)};
  const auto interval = welchRatio(base, head);
  REQUIRE(interval);
  const double reach = 4.30265 * std::sqrt(0.02);
  CHECK(near(std::log(interval->low), 1 - reach, 1e-4));
  CHECK(near(std::log(interval->high), 1 + reach, 1e-4));
}

TEST_CASE("one run a side, or a number not above zero, has no interval") {
  const std::vector<double> one = {1}, two = {1, 2}, zero = {0, 1};
  CHECK(!welchRatio(one, two));
  CHECK(!welchRatio(two, one));
  CHECK(!welchRatio(two, zero));
}

TEST_CASE("runs without any spread have an interval of no width") {
  const std::vector<double> base = {2, 2}, head = {3, 3};
  const auto interval = welchRatio(base, head);
  REQUIRE(interval);
  CHECK(near(interval->low, 1.5, 1e-12));
  CHECK(near(interval->high, 1.5, 1e-12));
}

TEST_CASE("a number that one run of a side lacks is not measured for the side") {
  const std::vector<RunNumbers> base = {{{"a", 1.0}, {"b", 1.0}}, {{"a", 3.0}}};
  const std::vector<RunNumbers> head = {{{"a", 4.0}, {"b", 1.0}}};
  const std::vector<std::string> paths = {"a", "b", "absent"};
  const Comparison c = compareRuns(base, head, paths);
  REQUIRE(c.metrics.size() == 3);
  CHECK(c.metrics[0].base == Maybe<double>(2.0));
  CHECK(near(c.metrics[0].ratio.value_or(0), 4 / std::sqrt(3.0), 1e-12));
  CHECK(!c.metrics[0].interval);
  CHECK(!c.metrics[1].base);
  CHECK(!c.metrics[1].ratio);
  CHECK(!c.metrics[2].head);
  CHECK(c.advisory());
}

}  // namespace stallprof
