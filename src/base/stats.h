// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

namespace stallprof {

// Pure statistics over finite samples. An empty sample gives 0; callers that must distinguish
// "none" from "zero" check emptiness first.
[[nodiscard]] double mean(std::span<const double> values);
[[nodiscard]] double sampleDeviation(std::span<const double> values);  // n - 1 in the denominator

// Linear interpolation between order statistics (Hyndman & Fan 1996, type 7). q in [0, 1].
[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] double median(std::vector<double> values);

}  // namespace stallprof
