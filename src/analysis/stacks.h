// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts.h"
#include "analysis/pieces.h"
#include "analysis/producer_threads.h"
#include "analysis/timeline.h"
#include "classify/stack_labels.h"

namespace stallprof {

// What the looks in [begin, end) saw of a trainer and its producers. `line` is the trainer's time
// as attribution drew it. An empty timeline and line: of any thread, as time nothing else names.
// A look in a step that finds the trainer waiting for `threads` says what they did meanwhile; of
// those, unknown is in PhaseLooks where nothing else of a step is.
[[nodiscard]] StackFacts gatherStacks(const Trace& trace, const StackLabels& labels,
                                      const TrainerTimeline& timeline, const Line& line,
                                      Nanos begin, Nanos end, const ProducerThreads& threads = {});

// How a fetch's exact times split further, by the looks of all fetches together. Without enough
// looks it changes nothing.
struct FetchShares {
  bool cpuKnown = false;  // enough stacks of producers on a CPU to tell the next two
  // Of the producer's CPU: reading, and handing over. The rest is transform.
  double cpuExtract = 0, cpuLoad = 0;
  // Of time blocked in locks and pipes, and in what says nothing: what the stack says it was for.
  double lockExtract = 0, lockLoad = 0, vagueExtract = 0, vagueTransform = 0, vagueLoad = 0;
};
[[nodiscard]] FetchShares fetchShares(const StackFacts& facts);

// The split and the blame of the window with what the stacks add: periodic and other work inside
// steps, and names for time outside them. Sums as before.
void refine(const StackFacts& facts, Split& split, Blame& blame);

}  // namespace stallprof
