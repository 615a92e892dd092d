// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/steps.h"

// Steps that the program itself told of, by marks (stallprof/annotate.h) or NVTX ranges.
namespace stallprof {

// Of the steps told of `thread`, those of the surest witness: marks, ranges that the user mapped,
// ranges named so. One inside another is part of it.
[[nodiscard]] ToldSteps readTold(const Trace& trace, ThreadId thread);

// Each from its begin to the next one's, as a batch is fetched between two as well as within one;
// the last to its own end. A longer break than a step takes makes it a boundary.
[[nodiscard]] std::vector<StepSpan> stepsOfTold(const TrainerTimeline& line);

// Where only phases are told of: a step begins where data (extract, transform, load) is first
// worked on after compute, and the last one ends with its compute. Fewer than two are none.
[[nodiscard]] std::vector<StepSpan> stepsOfPhases(const TrainerTimeline& line);

}  // namespace stallprof
