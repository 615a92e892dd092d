// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/source_lines.h"
#include "classify/stack_labels.h"

namespace stallprof {

// The functions that each phase's time went to, the largest of each side and phase.
[[nodiscard]] std::vector<FunctionInfo> functionTable(const Trace& trace,
                                                      const TrainerFacts& facts);

// For a run in which nobody was seen to step: the main thread of the process with most samples,
// over the whole run.
[[nodiscard]] StackFacts stacksOfRun(const Trace& trace, const StackLabels& labels);

}  // namespace stallprof
