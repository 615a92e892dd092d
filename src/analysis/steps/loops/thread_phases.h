// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/loops/loop_lines.h"
#include "analysis/steps/own_phases.h"
#include "base/interval.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// What the samples of a thread are for by their stacks alone, for what draws stacks: the report's
// shares know besides in which step or wait a sample fell. All that is passed outlives it.
class ThreadPhases {
 public:
  // Of a thread that does not train: what rules say.
  ThreadPhases(const StackLabels& labels, Side side) : labels_(labels), side_(side) {}
  // Of one that does, by its samples `within`, as the report judges the user's own code in it.
  // `stepless`: no step of the program is known.
  ThreadPhases(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
               const Interval& within, bool stepless);

  [[nodiscard]] Phase of(const StackSlice& slice, Wait wait) const;

 private:
  const StackLabels& labels_;
  Side side_;
  OwnPhases own_;
  LoopLines lines_;
  bool nowhere_ = false;
};

}  // namespace stallprof
