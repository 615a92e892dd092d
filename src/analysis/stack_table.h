// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/analysis.h"
#include "analysis/facts.h"
#include "classify/stack_labels.h"

namespace stallprof {

// The functions that each phase's time went to, the largest of each side and phase.
[[nodiscard]] std::vector<FunctionInfo> functionTable(const Trace& trace,
                                                      const TrainerFacts& facts);

// For a run in which nobody was seen to step: the main thread of the process with most looks, over
// the whole run.
[[nodiscard]] StackFacts stacksOfRun(const Trace& trace, const StackLabels& labels);

// The main thread that was looked at most: who trains, where no hook says it. May be none.
[[nodiscard]] ThreadId busiestMainThread(const Trace& trace);

// A frame as the report names it: the user's own with its line, a library's by file and function.
[[nodiscard]] SourceLine lineOf(const Trace& trace, StackId frame);

// "PIL/Image.py:Image.resize", or "train.py:31 load" for the user's own code.
[[nodiscard]] std::string nameOf(const SourceLine& line);

}  // namespace stallprof
