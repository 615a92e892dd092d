// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/analyze.h"
#include "present/timeline/chrome_trace_json.h"
#include "present/timeline/chrome_trace_timeline.h"
#include "trace/trace.h"

namespace stallprof {

struct TraceWritten {
  TimelineSummary summary;
  std::uint64_t bytes = 0;
  bool ok = true;  // `write` took all
};

// Trace Event JSON (the object form) for chrome://tracing, Perfetto and whatever else reads it.
// Times are microseconds with three digits since Trace::begin; one event a line; steps are named
// `ProfilerStep#N`. What the file leaves out, and what it cut, it says itself in "stallprof".
[[nodiscard]] TraceWritten writeChromeTrace(const Trace& trace, const Analyzed& analyzed,
                                            const TimelineOptions& options,
                                            const WriteBytes& write);

// The wall clock at Trace::begin, ns since 1970.
[[nodiscard]] Nanos realtimeOfBegin(const Trace& trace);

// What a summary says for itself, as a JSON object.
[[nodiscard]] std::string summaryJson(const TimelineSummary& summary);

}  // namespace stallprof
