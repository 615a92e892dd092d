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

// At the end, what the trace's counters, which no part drops, say of the whole of `facts`' window.
void measureCounters(const Trace& trace, TrainerFacts& facts);

}  // namespace stallprof
