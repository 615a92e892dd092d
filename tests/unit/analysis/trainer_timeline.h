// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/steps/timeline.h"
#include "tests/unit/analysis/text_trace.h"

namespace stallprof::test {

// A trace and its trainer's timeline, which points into it.
struct TrainerRead {
  explicit TrainerRead(const std::string& text)
      : trace(traceOf(kTrainer + text)),
        timeline(readTimeline(trace, {ProcessId{1}, ThreadId{1}})) {}
  Trace trace;
  TrainerTimeline timeline;
};

}  // namespace stallprof::test
