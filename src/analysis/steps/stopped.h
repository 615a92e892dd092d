// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/timeline.h"
#include "base/interval.h"
#include "trace/trace.h"

namespace stallprof {

// When the trainer was stopped, by a signal or a debugger: by the state of its thread; and, where
// the recorder was stopped with it, while neither sampled nor ran nor reported anything. That is no
// time of the training: it is no part of the window.
[[nodiscard]] Intervals stoppedTimes(const Trace& trace, const TrainerTimeline& timeline);

}  // namespace stallprof
