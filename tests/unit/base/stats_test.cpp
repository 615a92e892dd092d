// SPDX-License-Identifier: MIT
#include "base/stats.h"

#include <cmath>

#include "tests/catch.h"

namespace stallprof {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-9; }

TEST_CASE("statistics of no sample are 0") {
  CHECK(mean({}) == 0);
  CHECK(sampleDeviation({}) == 0);
  CHECK(median({}) == 0);
}

TEST_CASE("one sample is its own mean and median, without deviation") {
  const std::vector<double> one = {7};
  CHECK(mean(one) == 7);
  CHECK(median(one) == 7);
  CHECK(quantile(one, 0.99) == 7);
  CHECK(sampleDeviation(one) == 0);
}

TEST_CASE("mean and deviation of a known sample") {
  const std::vector<double> sample = {2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(near(mean(sample), 5));
  CHECK(near(sampleDeviation(sample), std::sqrt(32.0 / 7)));
}

TEST_CASE("quantiles interpolate between neighbours, in any order of the sample") {
  const std::vector<double> sample = {40, 10, 30, 20};
  CHECK(near(median(sample), 25));
  CHECK(near(quantile(sample, 0), 10));
  CHECK(near(quantile(sample, 1), 40));
  CHECK(near(quantile(sample, 0.25), 17.5));
  CHECK(near(quantile(sample, 0.95), 38.5));
  CHECK(near(quantile(sample, -1), 10));
  CHECK(near(quantile(sample, 2), 40));
}

}  // namespace
}  // namespace stallprof
