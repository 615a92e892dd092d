// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/evidence.h"

// How much is known of a run, and what one without a fix of 5 % is.
namespace stallprof {

// The program itself annotates what most of its time was.
[[nodiscard]] bool annotated(const Evidence& e);
// The steps are those of the trainer's Python, or it says itself what they are.
[[nodiscard]] bool pythonSeen(const Evidence& e);
// Where the phases of the trainer's own code are known by samples alone: a function that takes a
// fifth of the time is known to make data by five samples that read or transform, a fifth of its
// own (steps/own_phases.cpp). With fewer, such code counts as compute because nothing else is known
// of it, and so do samples of making data that are too few to be a share of the steps.
[[nodiscard]] Maybe<NoVerdict> fewSamples(const Evidence& e);
// Nothing gains 5 %, and that is known to be health.
[[nodiscard]] bool nothingToFix(const Evidence& e);

}  // namespace stallprof
