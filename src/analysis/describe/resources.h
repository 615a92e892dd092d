// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"
#include "analysis/steps/roles.h"

namespace stallprof {

// What the whole run used in the trainer's window, for ceilings and findings. Null: not measured.
[[nodiscard]] RunFacts measureRun(const Trace& trace, const TrainerFacts& trainer,
                                  const Roles& roles);

// The report's `resources` and `epochs` blocks, of the same window.
[[nodiscard]] Resources measureResources(const Trace& trace, const TrainerFacts& trainer,
                                         const Roles& roles, const RunFacts& run);
[[nodiscard]] std::vector<EpochInfo> measureEpochs(const Trace& trace, const TrainerFacts& trainer,
                                                   const Roles& roles, const RunFacts& run);

}  // namespace stallprof
