// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "present/metrics/report_metrics.h"

// What a gate may ask of a report: metricKinds(), by path.
namespace stallprof {

[[nodiscard]] const MetricKind* findMetric(std::string_view path);  // null: no such metric

// The word of `words` that is fewest edits away; empty where none is near.
[[nodiscard]] std::string_view nearestOf(std::string_view word,
                                         std::span<const std::string_view> words);
// "; did you mean 'x'?" for that one; "" where there is none.
[[nodiscard]] std::string didYouMean(std::string_view word,
                                     std::span<const std::string_view> words);
[[nodiscard]] std::string didYouMeanMetric(std::string_view path);

}  // namespace stallprof
