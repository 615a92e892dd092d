// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace stallprof {

// Pure statistics over finite samples. An empty sample gives 0; callers that must distinguish
// "none" from "zero" check emptiness first.
[[nodiscard]] double mean(std::span<const double> values);
[[nodiscard]] double sampleDeviation(std::span<const double> values);  // n - 1 in the denominator
[[nodiscard]] std::vector<double> logarithms(std::span<const double> values);

// Linear interpolation between order statistics (Hyndman & Fan 1996, type 7). q in [0, 1].
[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] double median(std::vector<double> values);

// Where a symmetric distribution has its middle, by the order of its values alone, so that some far
// off count no more than some just off: the median of the means of all pairs of values, each with
// itself too (Hodges and Lehmann), and the bounds that Wilcoxon's signed-rank test does not reject
// at `z` deviations of the normal distribution (1.96: 95 %). Null below kMinSignedRank values,
// where that approximation fails. Of more than 400 values not all pairs are taken: O(n), at least
// 80,000.
struct Location {
  double value = 0, low = 0, high = 0;
};
inline constexpr std::size_t kMinSignedRank = 10;
[[nodiscard]] std::optional<Location> signedRankLocation(std::span<const double> values, double z);

}  // namespace stallprof
