// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gate/statistics.h"
#include "gate/verdict.h"

namespace stallprof {

// "step time p50 regressed by 7.9 % (99.2 ms to 107 ms)": one check in one clause.
[[nodiscard]] std::string checkText(const CheckResult& result);

// "regressed", "not measured". A share of the time that is only shown is "lower" or "higher": it is
// less, too, where all else takes longer.
[[nodiscard]] std::string verdictText(const CheckResult& result);

// A value in the metric's own unit; "not measured".
[[nodiscard]] std::string metricText(const Maybe<double>& value, const MetricKind& kind);

[[nodiscard]] std::string runsText(std::size_t count);  // "1 run", "5 runs"

// "transform.slow_op at train.py:31", escaped; the share beside it.
[[nodiscard]] std::string suspectText(const Suspect& suspect);

}  // namespace stallprof
