// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/steps/timeline.h"

namespace stallprof {

// A step in the making: which of the timeline's fetches it began with.
struct StepSpan : Interval {
  std::uint32_t epoch = 0;  // index in TrainerTimeline::epochs, with a loader
  std::int64_t fetch = -1;  // index in TrainerTimeline::fetches; -1: no loader
  bool boundary = false;
};

// The steps of one trainer as README.md defines them, and the window that all shares are of.
struct StepPlan {
  StepSource source = StepSource::kNone;
  std::vector<StepSpan> steps;  // by time
  std::size_t warmup = 0;
  Nanos replayed = Nanos::min();  // when a replay began (`run --replay`); min(): none
  Interval window;
  bool annotated = false;  // by the program, which also says what is compute
};

// Marks each epoch of `timeline` as evaluation and as counted, then lists the steps: of the first
// of marks and mapped ranges, a known loader, ranges named as steps, a known optimizer, the order
// of the annotated phases, the loop of the stacks, the cadence of launches.
//  - Evaluation: no optimizer step from its first fetch on until something else is fetched, or all
//    of it from eval() to train(), in a process that has optimizer steps.
//  - Counted: the training epochs of the loader with most training fetches, and of other loaders
//    where they do not overlap (a loader recreated for each fold or epoch). What overlaps is
//    zipped with it, be it the same loader again.
//  - A epoch's last batch counts if the loop asked for another or an optimizer step followed.
[[nodiscard]] StepPlan planSteps(const Trace& trace, TrainerTimeline& timeline);

// The plan of the part of a run from `timeline.before` on, of the steps that begin before `end`.
// Parts join without a gap; the first has the warm-up.
void keepPart(const TrainerTimeline& timeline, Nanos end, StepPlan& plan);

// The first steps that are warm-up: 10 steps or 5 s, whichever is longer, at most 30 % of them.
// Batches that a resumed training skips come before, however many.
[[nodiscard]] std::size_t warmupSteps(const std::vector<StepSpan>& steps);

}  // namespace stallprof
