// SPDX-License-Identifier: MIT
#pragma once

#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// The thread that trains where no hook says it: the main thread with most samples that is no worker
// of a loader; or, where that updates no model by a known rule, the thread of its process that does
// most; or, where it mostly waits for the end of another, the thread that is busiest. May be none.
// Pure.
[[nodiscard]] ThreadId trainingThread(const Trace& trace, const StackLabels& labels);

}  // namespace stallprof
