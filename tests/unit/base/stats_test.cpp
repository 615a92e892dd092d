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

TEST_CASE("a location by ranks: the middle, its bounds, and what some far off do to it") {
  std::vector<double> sample;
  for (int i = 1; i <= 25; ++i) sample.push_back(i);
  const Location plain = *signedRankLocation(sample, 1.96);
  CHECK(near(plain.value, 13));
  // The table of the signed-rank test has 89 for 25 values at 0.025 a side: 325 means, the 90th.
  CHECK(plain.low >= 9.5);
  CHECK(plain.low <= 10);
  CHECK(plain.high >= 16);
  CHECK(plain.high <= 16.5);
  sample.back() = 1e9;
  const Location far = *signedRankLocation(sample, 1.96);
  CHECK(far.value < 14);
  CHECK(far.high < 18);
  CHECK(!signedRankLocation(std::vector<double>(9, 1.0), 1.96));
}

TEST_CASE("of thousands of values not all pairs are taken, and the location is no wider for it") {
  std::vector<double> sample;
  for (int i = 0; i < 10'000; ++i) sample.push_back((i * 7919) % 10'007);
  const Location found = *signedRankLocation(sample, 1.96);
  CHECK(std::abs(found.value - 5003) < 60);
  CHECK(found.high - found.low < 150);  // 4 deviations of the mean: 115
  CHECK(found.low < 5003);
  CHECK(found.high > 5003);
}

}  // namespace
}  // namespace stallprof
