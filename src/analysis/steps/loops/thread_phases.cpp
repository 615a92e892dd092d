// SPDX-License-Identifier: MIT
#include "analysis/steps/loops/thread_phases.h"

namespace stallprof {

ThreadPhases::ThreadPhases(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
                           const Interval& within, bool stepless)
    : labels_(labels),
      side_(Side::kTrainer),
      own_(trace, labels, thread, within.begin, within.end) {
  if (!stepless) return;
  lines_ = LoopLines(trace, labels, thread, within.begin, within.end);
  nowhere_ = !lines_.known() && !own_.yieldsToOperators();
}

Phase ThreadPhases::of(const StackSlice& slice, Wait wait) const {
  const StackLabel label = labels_.of(slice.stack, side_);
  const SampleLabel what = StackLabels::sample(label, wait, slice.gc);
  if (const auto own = own_.claim(slice.stack, label, what)) return own->phase;
  if (lines_.makesData(slice.stack, label, what)) return Phase::kTransform;
  const bool blocked = wait != Wait::kRunning;
  return lines_.isUnknown(slice.stack, blocked, label, what, nowhere_) ? Phase::kOther : what.phase;
}

}  // namespace stallprof
