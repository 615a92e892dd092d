// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"

namespace stallprof {

// The blocks of the report that restate what was established, without judging it.
// What befell the run from outside: a control group without memory, clocks, sleep.
[[nodiscard]] std::vector<std::string> remarksOf(const Trace& trace);
[[nodiscard]] RunInfo describeRun(const Trace& trace);
[[nodiscard]] CoverageInfo describeCoverage(const Trace& trace);
[[nodiscard]] StepsInfo describeSteps(const Trace& trace, const TrainerFacts& trainer);
[[nodiscard]] Breakdown describeBreakdown(const TrainerFacts& trainer);

}  // namespace stallprof
