// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a gate may ask of a report: the numbers it has one of, and which way is worse.
namespace stallprof {

enum class Worse : std::uint8_t { kHigher, kLower, kNeither };

struct MetricKind {
  std::string_view path;   // in the JSON report
  std::string_view label;  // for people
  std::string_view unit;   // "ns", "per_s", "bytes", "bytes_per_s", "count", "ratio", "number"
  Worse worse = Worse::kNeither;

  // Shares of a whole may be 0, so they move in points; everything else moves by a factor.
  [[nodiscard]] bool inPoints() const { return unit == "ratio"; }
};

[[nodiscard]] std::span<const MetricKind> metricKinds();
[[nodiscard]] const MetricKind* findMetric(std::string_view path);  // null: no such metric

// "; did you mean 'x'?" for the word of `words` that is fewest edits away; "" where none is near.
[[nodiscard]] std::string didYouMean(std::string_view word,
                                     std::span<const std::string_view> words);
[[nodiscard]] std::string didYouMeanMetric(std::string_view path);

}  // namespace stallprof
