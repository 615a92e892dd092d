// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "present/timeline/chrome_trace.h"
#include "stallprof/reading.h"

// The exports that draw a timeline, with what is said of them on stderr. The value is the exit
// status.
namespace stallprof {

using TimelineWriter = TraceWritten (*)(const Trace&, const Analyzed&, const TimelineOptions&,
                                        const WriteBytes&);

[[nodiscard]] int exportTimeline(const std::string& file, const Reading& reading, bool full,
                                 TimelineWriter writer);

// One trace a rank into `directory`, which is made where it is not there, and holds nothing else:
// HTA takes every .json in it. A rank's trace that is there already is never overwritten.
[[nodiscard]] int exportHta(const std::string& directory, const Reading& reading, bool full);

}  // namespace stallprof
