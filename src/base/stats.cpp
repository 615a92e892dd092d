// SPDX-License-Identifier: MIT
#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stallprof {

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sampleDeviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double m = mean(values);
  double squares = 0;
  for (const double v : values) squares += (v - m) * (v - m);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(v));
  return logs;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(below),
                   values.end());
  const double low = values[below];
  if (below + 1 == values.size()) return low;
  const double high =
      *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(below) + 1, values.end());
  return low + (high - low) * (position - static_cast<double>(below));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// Means of two values: of all pairs, or of many values only those so many places apart.
static std::vector<double> pairMeans(std::span<const double> values) {
  constexpr std::size_t kAllPairs = 400, kMaxMeans = kAllPairs * kAllPairs / 2;
  std::vector<double> means;
  const std::size_t n = values.size();
  if (n <= kAllPairs) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) means.push_back((values[i] + values[j]) / 2);
    return means;
  }
  const std::size_t stride = (n * n + kMaxMeans - 1) / kMaxMeans;
  for (std::size_t apart = 1; apart < n; apart += stride)
    for (std::size_t i = 0; i < n; ++i) means.push_back((values[i] + values[(i + apart) % n]) / 2);
  return means;
}

std::optional<Location> signedRankLocation(std::span<const double> values, double z) {
  if (values.size() < kMinSignedRank) return {};
  std::vector<double> means = pairMeans(values);
  const auto n = static_cast<double>(values.size());
  // The ranks of the values above the middle sum to n (n + 1) / 4, give or take its deviation,
  // sqrt(n (n + 1) (2 n + 1) / 24). This is that as a part of all n (n + 1) / 2 means.
  const double reach = z * std::sqrt((2 * n + 1) / (6 * n * (n + 1)));
  const auto ranked = [&](double part) {
    const auto all = static_cast<double>(means.size());
    const auto at = means.begin() +
                    static_cast<std::ptrdiff_t>(std::clamp(std::floor(part * all), 0.0, all - 1));
    std::nth_element(means.begin(), at, means.end());
    return *at;
  };
  Location location;
  location.low = ranked(0.5 - reach);
  location.high = ranked(0.5 + reach);
  location.value = median(std::move(means));
  return location;
}

}  // namespace stallprof
