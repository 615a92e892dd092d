// SPDX-License-Identifier: MIT
#include "analysis/whole_run/forward_alone.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace stallprof {
namespace {

// Quartiles of fewer intervals are those of chance.
constexpr std::size_t kMinIntervals = 8;
// Between the quartiles, of the median.
constexpr double kSteady = 0.5;
constexpr double kDeviations = 3;
// Once may be another stage of the training: of a part of the layers.
constexpr std::size_t kRecurs = 2;
// Of going back, which takes twice as long as going forward; of code that nobody made fast, more.
constexpr double kForward = 0.1;

double ahead(const PassSamples& part) { return part.forward + part.rest; }

// Of `values` in order with their weights, the one at `quantile` of the weight.
double quantileOf(const std::vector<std::pair<double, double>>& values, double weight,
                  double quantile) {
  double below = 0;
  for (const auto& [value, own] : values)
    if ((below += own) >= quantile * weight) return value;
  return values.back().first;
}

// What else computes for each sample of going back; none: it differs widely, or nothing goes back.
std::optional<double> ratioOfSteps(const std::vector<PassSamples>& parts) {
  std::vector<std::pair<double, double>> ratios;
  double weight = 0;
  for (const PassSamples& part : parts) {
    if (part.backward <= 0) continue;
    ratios.emplace_back(ahead(part) / part.backward, part.backward);
    weight += part.backward;
  }
  if (ratios.size() < kMinIntervals) return {};
  std::sort(ratios.begin(), ratios.end());
  const double median = quantileOf(ratios, weight, 0.5);
  const double spread = quantileOf(ratios, weight, 0.75) - quantileOf(ratios, weight, 0.25);
  if (spread > kSteady * median) return {};
  return median;
}

// What is beyond the ratio; none: what is left does not go forward as steps do, so that a step is
// longer than an interval.
std::optional<double> beyond(const std::vector<PassSamples>& parts, double ratio) {
  double sum = 0;
  std::size_t times = 0;
  bool alone = false;
  PassSamples steps;
  for (const PassSamples& part : parts) {
    const double excess = ahead(part) - ratio * part.backward;
    // Counts vary by their root: those here, and those of going back that would belong to them.
    const double deviation = std::sqrt(ahead(part) * (1 + ratio));
    const bool before = std::exchange(alone, part.forward > 0 && excess > kDeviations * deviation);
    times += alone && !before;
    if (alone)
      sum += excess;
    else
      steps.join(part);
  }
  if (steps.forward < kForward * steps.backward) return {};
  return times < kRecurs ? 0 : sum;
}

std::vector<PassSamples> joinedByTwo(const std::vector<PassSamples>& parts) {
  std::vector<PassSamples> joined;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    joined.push_back(parts[i]);
    joined.back().join(parts[i + 1]);
  }
  return joined;
}

}  // namespace

double forwardAlone(std::span<const PassSamples> intervals) {
  std::vector<PassSamples> parts(intervals.begin(), intervals.end());
  for (; parts.size() >= kMinIntervals; parts = joinedByTwo(parts))
    if (const auto ratio = ratioOfSteps(parts))
      if (const auto sum = beyond(parts, *ratio)) return *sum;
  return 0;
}

}  // namespace stallprof
