// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/hot.h"

// What the program's samplers take: they run in the training process, with workers too.
namespace stallprof {

extern const AdviceDefinition kCheaperSampler, kSamplerOnce;

// More than half of `dataShare` of the window.
[[nodiscard]] bool samplersDominate(const Evidence& e, double dataShare);

// The finding of that time, pointing at the sampler's line.
[[nodiscard]] Finding samplersFinding(const Evidence& e, double dataShare);

// Of what they take before an epoch's first batch; null where that is too little.
[[nodiscard]] Maybe<Finding> samplersAheadFinding(const Evidence& e);

}  // namespace stallprof
