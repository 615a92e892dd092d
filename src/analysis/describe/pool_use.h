// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"

namespace stallprof {

// How the threads of the training process share its CPU in the window, by the kernel's samples of
// them. Null where there are none.
[[nodiscard]] Maybe<PoolUse> poolUse(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
