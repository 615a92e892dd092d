// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blame.h"
#include "analysis/facts.h"
#include "analysis/steps.h"
#include "classify/stack_labels.h"

namespace stallprof {

// Gives every nanosecond of a trainer's window to one of Split's parts, and every data wait to
// whoever owed the batch. Evidence order: marks, then the hook's spans (torch.save), evaluation
// passes, then fetches and iterators, then "inside a step" (compute); what is left is `other`.
//  - next() with workers: the trainer's own CPU is load (unpickling, at the call's end), the rest
//  is
//    wait; without workers all of it is wait, blamed on the trainer's own fetch.
//  - making an iterator, and the next() that ends a pass and stops its workers, is load.
// Where `labels` has stacks, the fetches' CPU and vague waits are split by them. `laps`: the steps
// of a trainer that no hook told of.
[[nodiscard]] TrainerFacts attribute(const Trace& trace, TrainerIdentity who,
                                     const StackLabels* labels = nullptr,
                                     std::vector<Lap> laps = {});

// The same of a part of a long run: from `before` on, which then says what is counted with it, to
// `end`. Without steps where none begins in it.
[[nodiscard]] TrainerFacts attributePart(const Trace& trace, TrainerIdentity who,
                                         const StackLabels* labels, CountedBefore& before,
                                         Nanos end);

// What the trace's counters, which are never dropped, say of the whole of `facts`' window.
void measureAnew(const Trace& trace, TrainerFacts& facts);

}  // namespace stallprof
