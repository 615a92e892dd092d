// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"

namespace stallprof {

// `part` of a trainer's run follows what `all` is of, without a gap (attributePart): the facts of
// both. Times, counts and samples are added; of the number of processes that had a function, and of
// a call's places, the greater is kept, as which they were is not. What comes of the trace's
// counters is measured once, at the end (measureCounters).
void join(const Trace& trace, TrainerFacts& all, TrainerFacts&& part);

}  // namespace stallprof
