// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/hot.h"

// What the program's samplers take: they run in the training process, with workers too.
namespace stallprof {

extern const AdviceDefinition kCheaperSampler;

// More than half of `dataShare` of the window.
[[nodiscard]] bool samplersDominate(const Evidence& e, double dataShare);

// The finding of that time, pointing at the sampler's line.
[[nodiscard]] Finding samplersFinding(const Evidence& e, double dataShare);

}  // namespace stallprof
