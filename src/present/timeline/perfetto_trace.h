// SPDX-License-Identifier: MIT
#pragma once

#include "present/timeline/chrome_trace.h"

namespace stallprof {

// Perfetto's own format: TracePackets of TrackEvents. The same drawing as the Chrome trace, in
// about half its bytes, with whole nanoseconds. Timestamps are of CLOCK_BOOTTIME, with a snapshot
// that ties them to the wall clock, so it can be merged with what Perfetto recorded beside. What
// the file leaves out or cut, an event on the track "about this file" says.
[[nodiscard]] TraceWritten writePerfettoTrace(const Trace& trace, const Analyzed& analyzed,
                                              const TimelineOptions& options,
                                              const WriteBytes& write);

}  // namespace stallprof
