// SPDX-License-Identifier: MIT
#pragma once

#include "present/timeline/chrome_trace.h"

namespace stallprof {

// Kineto's dialect of Trace Event JSON, for HolisticTraceAnalysis and what else reads traces of
// PyTorch's profiler. One trainer a file, `options.trainer`, with its workers and devices. Times
// are whole microseconds since Trace::begin, rounded down at both ends: HTA rounds fractions so
// that short kernels get a negative duration. Each kernel has its stream and the correlation of its
// launch; a device's pid is its index, as in Kineto.
//
// Temporal, idle and kernel breakdown need every piece of the device's work: the longest interval
// that was traced so is what is written. Of a recording without one HTA reads steps and ranks.
// HTA reads every event for every step, so at most kMaxHtaSteps are written unless `full`.
[[nodiscard]] TraceWritten writeHtaTrace(const Trace& trace, const Analyzed& analyzed,
                                         const TimelineOptions& options, const WriteBytes& write);

// The rank each trainer announced, or its launcher gave it in RANK; its place among the
// recording's trainers where one is without a rank or two have the same.
[[nodiscard]] std::int64_t rankOf(const Trace& trace, const Roles& roles, std::size_t trainer);

// The file's name in its directory: HTA takes every .json in one as a trace.
[[nodiscard]] std::string htaFileName(std::int64_t rank);

}  // namespace stallprof
