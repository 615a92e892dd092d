// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/loops/inferred_steps.h"
#include "analysis/steps/loops/recurrence.h"

namespace stallprof {

// Steps by the exact turns of one of the program's own loops (LoopTurns), of the thread whose
// samples `all` are of. Of the loops that hold kMinTime of these, with kMinInferred turns:
//  - only those in which a model is updated by known rules, where the thread does so; else those
//    with half of the thread's work in a framework, where there is any;
//  - of these the only one, or the innermost that holds nearly all updates of those around it;
//    where no updates are known, nearly all of their time and of what rules know to make data: a
//    loop over epochs only repeats such a one, and a loop inside a step has no part in data.
// Else which one the step's is cannot be known: none, and `why` says between which.
// No iterations and no `why`: no such loop. Pure.
[[nodiscard]] InferredSteps stepsOfTurns(const Trace& trace, const StackLabels& labels,
                                         TrainerIdentity who, const Recurrences& all);

}  // namespace stallprof
