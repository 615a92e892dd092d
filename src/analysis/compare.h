// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

// Two sets of runs of the same work. The run, not the step, is what repeats: steps of one run share
// the state of its machine, so that their number says nothing of other runs; one run a side has no
// interval.
namespace stallprof {

using RunNumbers = std::map<std::string, double>;  // a run's numbers by JSON path

struct ConfidenceInterval {
  double low = 0, high = 0;
};

struct MetricComparison {
  std::string path;
  Maybe<double> base, head;  // median of a side's runs; null where a run of it lacks the number
  Maybe<double> ratio;       // head / base, geometric means; null unless all are above zero
  Maybe<ConfidenceInterval> interval;  // of the ratio, 95 %; null under two runs a side
};

struct Comparison {
  std::size_t baseRuns = 0, headRuns = 0;
  std::vector<MetricComparison> metrics;
  [[nodiscard]] bool advisory() const { return baseRuns < 2 || headRuns < 2; }
};

// One entry a path, in their order. Pure.
[[nodiscard]] Comparison compareRuns(std::span<const RunNumbers> base,
                                     std::span<const RunNumbers> head,
                                     std::span<const std::string> paths);

// Welch's 95 % interval of mean(log head) - mean(log base), as a ratio. Null under two values a
// side or with a value that is not above zero.
[[nodiscard]] Maybe<ConfidenceInterval> welchRatio(std::span<const double> base,
                                                   std::span<const double> head);

// P(|T| < t) for Student's T, t >= 0.
[[nodiscard]] double studentWithin(double t, double freedom);

// The t with P(|T| < t) = confidence, `freedom` >= 1 degrees of freedom, not necessarily whole.
[[nodiscard]] double studentQuantile(double confidence, double freedom);

}  // namespace stallprof
