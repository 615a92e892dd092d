// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "present/metrics/field.h"

namespace stallprof {

using report::Worse;

// A number that a report has one of, and which way is worse.
struct MetricKind {
  std::string path;        // in the JSON report
  std::string_view label;  // for people
  std::string_view unit;   // "ns", "per_s", "bytes", "bytes_per_s", "count", "ratio"
  Worse worse = Worse::kNeither;

  // Shares of a whole may be 0, so they move in points; everything else moves by a factor.
  [[nodiscard]] bool inPoints() const { return unit == "ratio"; }
};

// All fields of the report that have a label, in its order.
[[nodiscard]] std::span<const MetricKind> metricKinds();

}  // namespace stallprof
