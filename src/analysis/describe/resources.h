// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"
#include "analysis/steps/roles.h"
#include "trace/trace.h"

namespace stallprof {

// What the whole run used in the trainer's window, for ceilings and findings. Null: not measured.
[[nodiscard]] RunFacts measureRun(const Trace& trace, const TrainerFacts& trainer,
                                  const Roles& roles);

// The report's `resources` and `epochs` blocks, of the same window.
[[nodiscard]] Resources measureResources(const Trace& trace, const TrainerFacts& trainer,
                                         const Roles& roles, const RunFacts& run);
[[nodiscard]] std::vector<EpochInfo> measureEpochs(const Trace& trace, const TrainerFacts& trainer,
                                                   const Roles& roles, const RunFacts& run);

// The CPU fields of RunFacts for the trainer's window: how many cores the job could use, and who
// used them. README.md of src/analysis/describe has the definitions.
void measureCpu(const Trace& trace, const TrainerFacts& trainer, RunFacts& run);

// How the threads of the training process share its CPU in the window, by the kernel's samples of
// them. Null where there are none.
[[nodiscard]] Maybe<PoolUse> poolUse(const Trace& trace, const TrainerFacts& trainer);
// By the trainer's process, the last time before the window ended: torch.set_num_threads. The
// environment's OMP_NUM_THREADS does nothing then.
[[nodiscard]] Maybe<ThreadsSet> threadsSet(const Trace& trace, const TrainerFacts& trainer);
// Of the workers together. Null where there are under 30.
[[nodiscard]] Maybe<Share> workerSpins(const Trace& trace, const TrainerFacts& trainer);

// How often `makers` read the files in the window that they hold open: `read` bytes in all. Null
// below twice, where these files are no data set (under 1 MB), and where others of it were not
// seen.
[[nodiscard]] Maybe<Rereads> rereads(const Trace& trace,
                                     const std::function<bool(const ProcessLife&)>& makers,
                                     double read, const Interval& within);

// Where trainer, workers and device were among the nodes of the host's memory; README.md has the
// definitions. Null where the host has one node, or does not say.
[[nodiscard]] Maybe<NumaUse> measureNuma(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
