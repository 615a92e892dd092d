// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"

namespace stallprof {

// How the threads of the training process share its CPU in the window, by the kernel's samples of
// them. Null where there are none.
[[nodiscard]] Maybe<PoolUse> poolUse(const Trace& trace, const TrainerFacts& trainer);
// By the trainer's process, the last time before the window ended: torch.set_num_threads. The
// environment's OMP_NUM_THREADS does nothing then.
[[nodiscard]] Maybe<ThreadsSet> threadsSet(const Trace& trace, const TrainerFacts& trainer);
// Of the workers together. Null where there are under 30.
[[nodiscard]] Maybe<Share> workerSpins(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
