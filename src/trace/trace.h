// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/interval.h"
#include "event/event.h"
#include "event/strings.h"
#include "recording/manifest.h"

namespace stallprof {

// When an event that happened, or began, at `at` was over.
template <class P>
[[nodiscard]] Nanos endOf(Nanos at, const P& payload) {
  if constexpr (std::is_same_v<P, WorkerTask>)
    return at + payload.putEnd;
  else if constexpr (requires { payload.duration; })
    return at + payload.duration;
  else
    return at;
}

// An event with its time, in a table of its own kind.
template <class P>
struct Timed {
  Nanos at{};
  P data;
  [[nodiscard]] Nanos end() const { return endOf(at, data); }
};
template <class P>
using Table = std::vector<Timed<P>>;

// For `divide` (base/interval.h).
template <class P>
[[nodiscard]] Interval intervalOf(const Timed<P>& row) {
  return {row.at, row.end()};
}
template <class P>
[[nodiscard]] Interval intervalOf(const Timed<P>* row) {
  return {row->at, row->end()};
}

// A step that the program annotated: a mark of stallprof/annotate.h, or a range named or mapped so.
struct StepRange {
  ThreadId thread;
  Nanos duration{};
  SpanSource source = SpanSource::kNvtx;
  bool mapped = false;  // by --map
};

struct ThreadLife {
  ThreadId id;
  ProcessId process;
  std::uint32_t tid = 0;
  StringId name;
  Nanos seen{}, gone{Nanos::max()};
  Table<ThreadSlice> slices;   // by time, not overlapping
  Table<StackSlice> stacks;    // by time
  Table<NativeSlice> natives;  // by time
};

struct ProcessLife {
  ProcessId id, parent;
  std::uint32_t pid = 0;
  StringId comm, command, exe;  // of its last image
  Nanos seen{}, gone{Nanos::max()};
  std::vector<ThreadId> threads;
  Table<ProcessUsage> usage;
};

// A recording in memory: tables sorted by time, sealed after `load`. Nothing is inferred here.
struct Trace {
  Manifest manifest;
  bool cleanEnd = false;
  Nanos begin{}, end{};  // first and last instant anything is known of
  Nanos sampledEvery{};  // of a long run one sample of a thread is kept in each; 0: all are
  Strings strings;
  std::vector<ProcessLife> processes;  // index = ProcessId - 1; every id up to the size is there
  std::vector<ThreadLife> threads;     // index = ThreadId - 1
  // index = StackId - 1; a `stack` of none marks one that was not seen. A caller's id is smaller
  // than its callee's, so that following callers ends.
  Table<StackSeen> stacks;

  Table<HostUsage> host;
  Table<DiskUsage> disks;
  Table<NetworkUsage> networks;
  Table<CgroupUsage> cgroups;
  Table<FileSeen> files;
  Table<SyscallCount> syscalls;
  Table<FrameworkSeen> frameworks;
  Table<LoaderSeen> loaders;
  Table<SettingChanged> settings;
  Table<IteratorBegin> iterators;
  Table<Fetch> fetches;
  Table<WorkerBegin> workers;
  Table<WorkerTask> tasks;
  Table<SlowSamples> slowSamples;
  Table<OptimizerStep> optimizerSteps;
  Table<StepPlace> stepPlaces;
  Table<LoopTurns> turns;
  Table<PhaseSpan> spans;
  Table<DeviceSeen> devices;
  Table<DeviceTrace> deviceTraces;
  Table<DeviceSpan> deviceSpans;
  Table<DeviceWork> deviceWorks;
  Table<DeviceUse> deviceUses;
  Table<DeviceCall> deviceCalls;
  Table<DeviceCallUse> deviceCallUses;
  Table<Range> ranges;
  Table<StepRange> steps;        // of `ranges`; range_map.h
  std::vector<bool> mapsFitted;  // of manifest.maps: a range of such a name was there
  Table<DeviceUsage> deviceUsages;
  Table<DeviceProcess> deviceProcesses;
  Table<NativePlace> places;
  Table<CounterUsage> counters;
  Table<ClockPair> clocks;
  Table<SourceState> sources;
  Table<Loss> losses;
  Table<Gap> gaps;
  Table<SamplingPause> pauses;
  Table<CommandEnd> ends;
  Table<RecorderUsage> recorder;
  Table<SignalForwarded> signals;

  // None ids and ids out of range give an empty life, so damage never becomes a crash.
  [[nodiscard]] const ProcessLife& process(ProcessId id) const;
  [[nodiscard]] const ThreadLife& thread(ThreadId id) const;
  [[nodiscard]] const StackSeen& stack(StackId id) const;
  [[nodiscard]] std::string_view text(StringId id) const { return strings.at(id); }
};

// The nearest process above `process` of which `holds` is true: its parent, that one's, and so on;
// none: there is none. Bounded, as the parents of a damaged recording may be a ring.
template <class Holds>
[[nodiscard]] ProcessId firstAbove(const Trace& trace, ProcessId process, Holds holds) {
  constexpr int kMaxParents = 16;
  for (int i = 0; i < kMaxParents && !process.none(); ++i) {
    process = trace.process(process).parent;
    if (!process.none() && holds(process)) return process;
  }
  return {};
}

// The places of `times` in their order, equal ones as they are.
[[nodiscard]] std::vector<std::uint32_t> orderOf(const std::vector<Nanos>& times);

// Stable. Not a std::stable_sort of rows, which for some 35 kinds of rows takes 10 s to compile.
template <class P>
void sortByTime(Table<P>& table) {
  bool sorted = true;
  for (std::size_t i = 1; i < table.size() && sorted; ++i) sorted = table[i - 1].at <= table[i].at;
  if (sorted) return;
  std::vector<Nanos> times;
  for (const Timed<P>& row : table) times.push_back(row.at);
  Table<P> inOrder;
  inOrder.reserve(table.size());
  for (const std::uint32_t place : orderOf(times)) inOrder.push_back(table[place]);
  table = std::move(inOrder);
}

// By time. Where two slices overlap the earlier one keeps its interval.
void removeOverlap(Table<ThreadSlice>& slices);

}  // namespace stallprof
