// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/facts/stack_facts.h"

namespace stallprof {

// Adds `time` to the component of the split that is `phase`, and of the blame where it is time for
// data; false: there is none.
bool addPhase(Split& split, Blame& blame, Phase phase, Nanos time);

// How a fetch's exact times split further, by the samples of all fetches together. Without enough
// samples it changes nothing.
struct FetchShares {
  bool cpuKnown = false;  // enough stacks of producers on a CPU for the next two
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
