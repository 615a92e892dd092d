// SPDX-License-Identifier: MIT
#include "analysis/device/device_time.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/facts/device_facts.h"
#include "base/largest.h"

namespace stallprof {
namespace {

// Shares of fewer seconds of tracing, or of less than this part of the window, show the intervals
// that happened to be traced and not the run.
constexpr double kMinTracedSeconds = 0.2, kMinTracedRatio = 0.01;

ProcessId busiestProcess(const Trace& trace) {
  std::map<ProcessId, Nanos> busy;
  for (const auto& row : trace.deviceSpans) busy[row.data.process] += row.data.busy;
  for (const auto& row : trace.devices) busy.try_emplace(row.data.process);
  busy.erase(ProcessId{});
  const auto maximum = largestIn(busy);
  return maximum == busy.end() ? ProcessId{} : maximum->first;
}

void readSpans(const Trace& trace, ProcessId process, DeviceTimeline& timeline) {
  std::unordered_map<StringId, std::size_t> known;
  Intervals busy;
  for (const auto& row : trace.deviceSpans) {
    if (row.data.process != process || row.data.duration <= Nanos{}) continue;
    const auto [at, isNew] = known.try_emplace(row.data.device, timeline.devices.size());
    if (isNew) timeline.devices.push_back({row.data.device, {}});
    auto& spans = timeline.devices[at->second].spans;
    // A device works for one process once at a time; what overlaps is damage.
    if (!spans.empty() && row.at < spans.back()->end()) continue;
    spans.push_back(&row);
    busy.push_back({row.at, row.end()});
  }
  timeline.busy = joined(std::move(busy));
}

bool isCopy(DeviceWorkKind kind) {
  return kind == DeviceWorkKind::kToDevice || kind == DeviceWorkKind::kToHost;
}

// A call's direction: of the copy it started, else of the copy that ran while it blocked.
class Copies {
 public:
  Copies(const Trace& trace, ProcessId process) {
    for (const auto& row : trace.deviceWorks) {
      if (row.data.process != process || !isCopy(row.data.kind)) continue;
      const bool in = row.data.kind == DeviceWorkKind::kToDevice;
      if (row.data.correlation != 0) byCorrelation_[row.data.correlation] = in;
      works_.push_back({{row.at, row.end()}, in});
      if (in) toDevice_.push_back({row.at, row.end()});
    }
  }
  [[nodiscard]] bool toDevice(const Timed<DeviceCall>& call) const {
    if (const auto found = byCorrelation_.find(call.data.correlation);
        call.data.correlation != 0 && found != byCorrelation_.end())
      return found->second;
    auto work = std::partition_point(works_.begin(), works_.end(), [&](const Work& w) {
      return w.when.begin < call.at;  // a copy begins after the call that asks for it
    });
    if (work != works_.end() && work->when.begin < call.end()) return work->in;
    return true;
  }
  [[nodiscard]] Intervals toDevice() const { return joined(toDevice_); }

 private:
  struct Work {
    Interval when;
    bool in;
  };
  std::unordered_map<std::uint32_t, bool> byCorrelation_;
  std::vector<Work> works_;  // by begin
  Intervals toDevice_;
};

void readCalls(const Trace& trace, ThreadId thread, const Copies& copies,
               DeviceTimeline& timeline) {
  Nanos done = Nanos::min();
  for (const auto& row : trace.deviceCalls) {
    const bool copy = row.data.kind == DeviceCallKind::kCopy;
    if (row.data.thread != thread || row.data.duration <= Nanos{}) continue;
    if (!copy && row.data.kind != DeviceCallKind::kSync) continue;
    const Nanos begin = std::max(row.at, done);  // a runtime call holds a driver call
    if (row.end() <= begin) continue;
    timeline.calls.push_back({{begin, row.end()}, copy && copies.toDevice(row)});
    done = row.end();
  }
}

}  // namespace

bool DeviceTimeline::enoughIn(const Interval& window) const {
  const double known = seconds(lengthIn(traced, window)), whole = seconds(window.length());
  return known > 0 && known >= std::min(whole / 2, kMinTracedSeconds) &&
         known >= kMinTracedRatio * whole;
}

bool isKernel(DeviceWorkKind kind) {
  return kind == DeviceWorkKind::kKernel || kind == DeviceWorkKind::kCollective ||
         kind == DeviceWorkKind::kGraph;
}

const Timed<DeviceTrace>* longestOfEach(const Trace& trace, ProcessId process) {
  const Timed<DeviceTrace>* longest = nullptr;
  for (const auto& row : trace.deviceTraces)
    if (row.data.each && row.data.kernels && row.data.process == process &&
        (longest == nullptr || row.data.duration > longest->data.duration))
      longest = &row;
  return longest;
}

Intervals longGaps(const DeviceTimeline& devices, const Interval& window) {
  Intervals gaps;
  divide(devices.traced, window, [&](const Interval& traced, const Interval* known) {
    if (!known) return;
    divide(devices.busy, traced, [&](const Interval& piece, const Interval* busy) {
      if (busy || piece.length() < kLaunchGap) return;
      divide(devices.calls, piece, [&](const Interval& part, const BlockingCall* call) {
        if (!call) gaps.push_back(part);
      });
    });
  });
  return gaps;
}

DeviceTimeline readDevices(const Trace& trace, TrainerIdentity who) {
  const ProcessId process = who.process.none() ? busiestProcess(trace) : who.process;
  DeviceTimeline timeline;
  if (process.none()) return timeline;
  timeline.process = process;
  readSpans(trace, process, timeline);
  Intervals traced, covered;
  for (const auto& row : trace.deviceTraces) {
    if (row.data.process != process) continue;
    covered.push_back({row.at, row.end()});
    if (row.data.kernels) traced.push_back(covered.back());
  }
  timeline.traced = joined(std::move(traced));
  timeline.covered = joined(std::move(covered));
  const Copies copies(trace, process);
  timeline.copies = copies.toDevice();
  readCalls(trace, who.thread, copies, timeline);
  const auto ours = [&](const auto& row) { return row.data.process == process; };
  timeline.seen = !timeline.covered.empty() || !timeline.devices.empty() ||
                  std::any_of(trace.devices.begin(), trace.devices.end(), ours) ||
                  std::any_of(trace.deviceProcesses.begin(), trace.deviceProcesses.end(), ours);
  return timeline;
}

}  // namespace stallprof
