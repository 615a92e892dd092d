// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"

namespace stallprof {

// What sampling cost this trainer, as README.md defines it: from the pauses in its window that can
// be compared with the time around them. Null where there is none.
[[nodiscard]] Maybe<Slowdown> measureSlowdown(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
