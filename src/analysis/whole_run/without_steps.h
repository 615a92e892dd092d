// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "classify/stack_labels.h"

namespace stallprof {

// For a run in which nobody was seen to step: the main thread of the process with most samples of
// stacks, in the loop that it was in for most of its time (setup and teardown apart), else all of
// the run. Shares are by samples alone; what they do not name is `other`. Without stacks only the
// window is set.
[[nodiscard]] TrainerFacts attributeWithoutSteps(const Trace& trace, const StackLabels& labels);

}  // namespace stallprof
