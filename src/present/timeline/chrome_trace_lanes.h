// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/device/device_time.h"
#include "present/timeline/chrome_trace_timeline.h"

namespace stallprof {

// A slice yet to be written: where it is, and the row that it is of.
struct SliceRef {
  Nanos begin{}, end{};
  std::uint32_t row = 0;
  SliceKind kind = SliceKind::kSpan;
  std::uint16_t trainer = 0;  // of a step
};

struct LaneDraft {
  TraceLane lane;
  ProcessId process;
  std::vector<SliceRef> refs;  // by begin, outer first
};

// Who draws where: lanes of every thread, device and stream that has slices, in order of drawing.
struct TimelineLanes {
  std::vector<LaneDraft> lanes;
  std::vector<TrainerFacts> trainers;      // those drawn, with their steps
  std::vector<TraceLane> processes;        // that have counters; not those of devices
  std::vector<ProcessId> counted;          // the same, as ids
  std::vector<StringId> devices;           // by index
  std::vector<TraceLane> deviceProcesses;  // the same, as lanes
  TraceLane host;
  std::uint64_t slices = 0;
};

[[nodiscard]] TimelineLanes layLanes(const Trace& trace, const Analyzed& analyzed,
                                     const TimelineOptions& options);

// The batch a fetch delivers, by the worker's row that made it; rows from 0.
class BatchFlows {
 public:
  explicit BatchFlows(const Trace& trace);
  // Not 0: the id of the arrow from the task in `row` to the fetch that took its batch.
  [[nodiscard]] std::uint64_t ofTask(std::uint32_t row) const;
  [[nodiscard]] std::uint64_t ofFetch(std::uint32_t row) const;
  [[nodiscard]] Interval making(std::uint64_t flow) const;  // where its batch was made
  [[nodiscard]] Interval taking(std::uint64_t flow) const;  // the fetch that took it

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> taskOf_, fetchOf_;  // row + 1 of the other end; 0: none
};

// One slice, written out.
class SliceWriter {
 public:
  SliceWriter(const Trace& trace, const TimelineLanes& lanes);
  void write(const SliceRef& ref, const BatchFlows& flows, TraceSlice& slice) const;
  // Its number among all steps of the run, of which not all may be held; 0 for what is no step.
  [[nodiscard]] std::uint32_t stepOf(const SliceRef& ref) const {
    return ref.kind == SliceKind::kStep ? lanes_.trainers[ref.trainer].steps[ref.row].number : 0;
  }

 private:
  void step(const SliceRef& ref, TraceSlice& slice) const;
  void work(const SliceRef& ref, TraceSlice& slice) const;
  const Trace& trace_;
  const TimelineLanes& lanes_;
  std::vector<std::map<std::uint32_t, std::int64_t>> epochs_;  // of each trainer: epochNumbers()
};

// Counters of processes, devices and host; at most some thousand points a series unless `full`.
std::uint64_t drawCounters(const Trace& trace, const TimelineLanes& lanes, bool full,
                           TraceSink& sink);

}  // namespace stallprof
