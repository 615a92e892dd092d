// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/timeline.h"
#include "base/interval.h"
#include "trace/trace.h"

namespace stallprof {

// When what the job reported could not be written (a full disk): of that time nothing is known. A
// gap begins with the first row that was lost, which may have lasted long; what the trainer
// reported after that, and was written, is known.
[[nodiscard]] Intervals unwritten(const Trace& trace, const TrainerTimeline& timeline);

}  // namespace stallprof
