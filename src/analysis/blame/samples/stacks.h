// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blame/samples/producer_threads.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/pieces.h"
#include "analysis/steps/timeline.h"
#include "classify/stack_labels.h"

namespace stallprof {

// What the samples in [begin, end) show of a trainer and its producers. `pieces` is the trainer's
// time as attribution drew it. An empty timeline and no pieces: of any thread, as time nothing else
// names. A sample in a step that finds the trainer waiting for `threads` has the phase of what they
// did meanwhile; of those, unknown is in PhaseSamples where nothing else of a step is. `idle`: the
// long gaps of its devices.
[[nodiscard]] StackFacts gatherStacks(const Trace& trace, const StackLabels& labels,
                                      const TrainerTimeline& timeline, const Timeline& pieces,
                                      Nanos begin, Nanos end, const ProducerThreads& threads = {},
                                      const Intervals& idle = {});

}  // namespace stallprof
