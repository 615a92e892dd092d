// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"

namespace stallprof {

// Where trainer, workers and device were among the nodes of the host's memory; README.md has the
// definitions. Null where the host has one node, or does not say.
[[nodiscard]] Maybe<NumaUse> measureNuma(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
