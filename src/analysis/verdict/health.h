// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/evidence.h"

// What a run without a fix of 5 % is known to be.
namespace stallprof {

// The program itself annotates what most of its time was.
[[nodiscard]] bool annotated(const Evidence& e);
// The steps are those of the trainer's Python, or it says itself what they are.
[[nodiscard]] bool pythonSeen(const Evidence& e);
// Nothing gains 5 %, and that is known to be health.
[[nodiscard]] bool nothingToFix(const Evidence& e);

}  // namespace stallprof
