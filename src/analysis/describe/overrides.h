// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/analysis.h"
#include "trace/trace.h"

namespace stallprof {

// What `run --set` and the like changed in the command, into `run`.
void describeOverrides(const Trace& trace, RunInfo& run);

// Sentences for the head of the report: what was changed, and what that changes in the training
// beside its pace. Empty where nothing was.
[[nodiscard]] std::vector<std::string> overrideCaveats(const Trace& trace, const RunInfo& run);

// Of a replay, or of a loader alone, the pace itself is a ceiling, measured; what the model says of
// a training is then not asked for.
void measureCeiling(Analysis& analysis);

}  // namespace stallprof
