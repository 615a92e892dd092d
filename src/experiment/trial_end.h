// SPDX-License-Identifier: MIT
#pragma once

#include "trace/trace.h"

// How a run of so many seconds of steps stood when these were over and it was sent TERM.
namespace stallprof {

struct TrialEnd {
  // Without a batch, an update, or the end of an evaluation or a save; 0: it had ended by itself.
  double silent = 0;
  bool still = false;  // and next to nothing of it ran then: it waited for what did not come
};

// The seconds begin with the first update; `trainer` is the thread that trains.
[[nodiscard]] TrialEnd endOfTrial(const Trace& trace, ThreadId trainer, double windowSeconds);

// Silent for a quarter of the window, and for twice as long as the command as it is ever was
// (`asItIs` seconds); half of the window is too long for any.
[[nodiscard]] bool tooSilent(const TrialEnd& end, double asItIs, double windowSeconds);

}  // namespace stallprof
