// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/steps/steps.h"

// Steps that the program itself annotated, by marks (stallprof/annotate.h) or NVTX ranges.
namespace stallprof {

// Of the annotated steps of `thread`, those of the surest source: marks, ranges that the user
// mapped, ranges named so. One inside another is part of it.
[[nodiscard]] AnnotatedSteps readAnnotated(const Trace& trace, ThreadId thread);

// Each from its begin to the next one's, as a batch is fetched between two as well as within one;
// the last to its own end. A longer break than a step takes makes it a boundary.
[[nodiscard]] std::vector<StepSpan> stepsOfAnnotated(const TrainerTimeline& timeline);

// Where only phases are annotated: a step begins where data (extract, transform, load) is first
// worked on after compute, and the last one ends with its compute. Fewer than two are none.
[[nodiscard]] std::vector<StepSpan> stepsOfPhases(const TrainerTimeline& timeline);

}  // namespace stallprof
