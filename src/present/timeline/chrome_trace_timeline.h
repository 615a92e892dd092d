// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/analyze.h"

// A recording as lanes of slices, for the trace viewers: one drawing, any number of dialects.
// Instants are of the trace (CLOCK_MONOTONIC); a sink makes them relative to Trace::begin.
namespace stallprof {

// What a slice is; each dialect has its own word for it. Outer kinds come first: of two slices
// that begin together and end together, the first is drawn around the second.
enum class SliceKind : std::uint8_t {
  kMerged,  // many, where detail is left out
  kStep,
  kIterator,  // iter(loader)
  kFetch,     // next()
  kIndexWait,
  kMake,
  kSend,
  kSpan,  // a phase span: mark, NVTX or hook
  kRange,
  kOptimizer,
  kCall,  // into the driver or runtime
  kBusy,  // a device had work of a process
  kWork,  // one kernel, copy or set
  kGc,    // samples that found the collector running
};

[[nodiscard]] constexpr std::string_view categoryOf(SliceKind kind) {
  constexpr std::string_view kNames[] = {"merged", "step", "iterator", "fetch", "index_wait",
                                         "make",   "send", "span",     "range", "optimizer",
                                         "call",   "busy", "device",   "gc"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct SliceArg {
  std::string_view key;  // a literal
  std::variant<std::int64_t, double, std::string> value;
};

struct TraceLane {
  std::size_t index = 0;          // unique; lanes of one process follow each other
  std::int64_t pid = 0, tid = 0;  // the job's own where they are unique, else above any real one
  std::string process, name;      // bytes of the job: a sink escapes them
  int processOrder = 0, order = 0;
  int device = -1;  // index of the device, on a device's lanes
};

struct TraceSlice {
  SliceKind kind = SliceKind::kSpan;
  Nanos begin{}, end{};
  std::string name;  // bytes of the job
  std::vector<SliceArg> args;
  std::uint64_t row = 0;   // in the trace's table of its kind; steps: the index
  std::uint64_t flow = 0;  // not 0: a batch on its way; the maker starts, the fetch ends it
  bool flowEnds = false;
  Nanos flowAt{};  // within the slice
  Nanos cut{};     // taken off its end, so that the lane nests
};

// Where a timeline goes. Slices of one lane come by begin, outer before inner, and nest. Called
// from one thread; nothing that is passed is kept.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void lane(const TraceLane& lane) = 0;  // before its slices and counters
  virtual void slice(const TraceLane& lane, const TraceSlice& slice) = 0;
  // A step function of time; `lane` says the process alone.
  virtual void counter(const TraceLane& lane, std::string_view name, std::string_view unit,
                       Nanos at, double value) = 0;
};

// Of one interval, unless all is asked for: HTA reads every event for every step.
inline constexpr std::size_t kMaxHtaSteps = 500;

struct TimelineOptions {
  bool full = false;                // everything, whatever the size
  std::uint64_t maximum = 400'000;  // slices written in full; the rest are merged
  // Only whole steps of one interval, and one trainer with its workers and devices.
  bool oneInterval = false;
  std::size_t trainer = 0;  // index in Roles::trainers, with oneInterval
};

struct TimelineSummary {
  std::uint64_t slices = 0, counters = 0;
  std::uint64_t cut = 0;            // slices cut at the end of the one they began in
  std::uint64_t merged = 0;         // slices that only a merged one shows
  std::uint64_t steps = 0;          // in full
  std::vector<std::string> detail;  // "median step 412 (400..424)"
  bool whole = true;                // nothing was merged or left out
};

// Memory: 24 bytes for each slice of the recording, beside the trace itself; nothing for output.
TimelineSummary drawTimeline(const Trace& trace, const Analyzed& analyzed,
                             const TimelineOptions& options, TraceSink& sink);

}  // namespace stallprof
