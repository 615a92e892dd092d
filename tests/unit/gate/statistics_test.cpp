// SPDX-License-Identifier: MIT
#include "gate/statistics.h"

#include <cmath>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/analysis/near.h"

namespace stallprof {
namespace {

using test::near;

const Scale kTime{false, true}, kRate{false, false}, kShare{true, true};

}  // namespace

TEST_CASE("a shift and its bounds are Welch's, as worked by hand") {
  // logs: base 0 and 0.2, head 1.0 and 1.2: variance 0.02 a side, freedom 2, error sqrt(0.02).
  const std::vector<double> base = {1, std::exp(0.2)}, head = {std::exp(1.0), std::exp(1.2)};
  const auto shift = measureShift(base, head, kTime, 0.025, 0.03);
  REQUIRE(shift);
  const double error = std::sqrt(0.02), reach = 4.30265 * error;
  CHECK(near(shift->size, 1, 1e-12));
  CHECK(near(shift->low, 1 - reach, 1e-4));
  CHECK(near(shift->high, 1 + reach, 1e-4));
  CHECK(near(shift->noise, std::sqrt(0.02), 1e-12));
  // For freedom 2 the tail is known in closed form: 1/2 - t / (2 sqrt(2 + t^2)).
  const double t = 1 / error;
  CHECK(near(shift->worse, 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-9));
  CHECK(near(shift->worse + shift->better, 1, 1e-9));
  // t(0.90, 2) is 1.88562: the reach, and then nine of ten.
  CHECK(near(shift->detectable, reach + 1.88562 * error, 1e-4));
}

TEST_CASE("a rate that falls is a shift up, and is shown as a fall") {
  const std::vector<double> base = {10, 10.1}, head = {8, 8.08};
  const auto shift = measureShift(base, head, kRate, 0.02, 0.03);
  REQUIRE(shift);
  CHECK(near(shift->size, std::log(1.25), 1e-9));
  CHECK(near(kRate.shownOf(shift->size), -0.2, 1e-9));
  CHECK(near(kTime.shownOf(kTime.shiftOf(0.05)), 0.05, 1e-12));
}

TEST_CASE("shares move in points, and may be zero") {
  const std::vector<double> base = {0, 0.02}, head = {0.10, 0.12};
  const auto shift = measureShift(base, head, kShare, 0.02, 0.03);
  REQUIRE(shift);
  CHECK(near(shift->size, 0.10, 1e-12));
  CHECK(!measureShift(base, head, kTime, 0.02, 0.03));
}

TEST_CASE("runs without any spread differ or do not") {
  const std::vector<double> two = {2, 2, 2}, three = {3, 3, 3};
  const auto same = measureShift(two, two, kTime, 0.02, 0.03);
  REQUIRE(same);
  CHECK(same->worse >= 0.5);
  const auto up = measureShift(two, three, kTime, 0.02, 0.03);
  REQUIRE(up);
  CHECK(up->worse <= 0);
  CHECK(near(up->low, std::log(1.5), 1e-12));
}

TEST_CASE("one run a side has no shift") {
  const std::vector<double> one = {1}, two = {1, 2};
  CHECK(!measureShift(one, two, kTime, 0.02, 0.03));
  CHECK(!measureShift(two, one, kTime, 0.02, 0.03));
}

TEST_CASE("the detectable change shrinks with runs and grows with noise") {
  const auto detectable = [](std::size_t runs, double noise) {
    std::vector<double> side;
    for (std::size_t i = 0; i < runs; ++i) side.push_back(std::exp((i % 2 == 0 ? 1 : -1) * noise));
    return measureShift(side, side, kTime, 0.02, 0.03)->detectable;
  };
  CHECK(detectable(16, 0.02) < detectable(8, 0.02));
  CHECK(detectable(8, 0.02) < detectable(8, 0.05));
  CHECK(detectable(64, 0.001) >= 0.03);  // never under the floor
}

TEST_CASE("a mistyped word is distinguished from another word") {
  CHECK(didYouMeanMetric("steps.time_ns.p5O") == "; did you mean 'steps.time_ns.p50'?");
  CHECK(didYouMeanMetric("step_time.p50") == "; did you mean 'steps.time_ns.p50'?");
  CHECK(didYouMeanMetric("zzz").empty());
  CHECK(didYouMeanMetric(std::string(100000, 'a')).empty());
}

}  // namespace stallprof
