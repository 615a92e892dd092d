// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/run_facts.h"
#include "base/interval.h"
#include "trace/trace.h"

namespace stallprof {

// Sets diskBusyRatio and peakReadBytesPerSecond: what the best second of the disks that the job
// reads moved together, and how busy they were in the window. Of files that are on no disk,
// nothing. `readByJob`: bytes in the window.
void measureDisk(const Trace& trace, const Interval& within, double readByJob, RunFacts& run);

}  // namespace stallprof
