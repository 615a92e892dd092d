// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "trace/trace.h"

namespace stallprof {

// What the CPUs' counters say of [begin, end), over all of the job; nullopt where none counted.
// Counters that took turns are scaled to all of the time.
[[nodiscard]] Maybe<CountersInfo> measureCounters(const Trace& trace, Nanos begin, Nanos end);

}  // namespace stallprof
