// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blame/blame.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/steps.h"
#include "classify/stack_labels.h"

namespace stallprof {

// Gives every nanosecond of a trainer's window to one component of Split, and every data wait to
// the thread or process that owed the batch, in the order of evidence that README.md lists.
// `timeline` is read of a part of a run: from `before` on, which then counts it too, to `end`
// (Nanos::max(): the last part). Without steps where none begins in it. Without `labels` no stack
// is read.
[[nodiscard]] TrainerFacts attributePart(const Trace& trace, TrainerTimeline timeline,
                                         const StackLabels* labels, CountedBefore& before,
                                         Nanos end);

// `part` of a trainer's run follows what `all` is of, without a gap (attributePart): the facts of
// both. Times, counts and samples are added; of the number of processes that had a function, and of
// a call's places, the greater is kept, as which they were is not. What comes of the trace's
// counters is measured once, at the end (measureCounters).
void join(const Trace& trace, TrainerFacts& all, TrainerFacts&& part);

// At the end, what the trace's counters, which no part drops, say of the whole of `facts`' window.
void measureCounters(const Trace& trace, TrainerFacts& facts);

}  // namespace stallprof
