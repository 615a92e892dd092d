// SPDX-License-Identifier: MIT
// The half of ActivityProcess that puts out what has settled.
#include <algorithm>
#include <map>

#include "recording/activity/activity_process.h"
#include "recording/cupti/activity_keys.h"

namespace stallprof {
namespace {

// The same order in every run of the same records.
constexpr auto kLargestFirst = [](const auto* a, const auto* b) {
  return a->total.time != b->total.time ? a->total.time > b->total.time : a->key < b->key;
};

// From a launch to its kernel, where nothing is in between: some 10 us.
constexpr std::int64_t kQueued = 1'000'000;

Nanos nanos(double ns) { return Nanos(static_cast<std::int64_t>(std::min(ns, 9e18))); }

}  // namespace

StringId ActivityProcess::callName(std::uint64_t key, const Sink& sink) const {
  const CallOf call = callOf(key);
  return sink.out.intern(call.name.empty() ? "cbid " + std::to_string(call.number)
                                           : std::string(call.name));
}

ProcessId ActivityProcess::process(const Sink& sink) {
  if (process_.none()) process_ = sink.identities.process(area_.owner, area_.startTicks);
  return process_;
}

ThreadId ActivityProcess::thread(std::uint32_t tid, const Sink& sink) {
  if (tid == 0) return {};
  if (const auto found = threads_.find(tid); found != threads_.end()) return found->second;
  constexpr std::size_t kThreads = 4096;  // the job may not make us hold more
  if (threads_.size() >= kThreads) return {};
  return threads_[tid] = sink.identities.thread(process(sink), tid);
}

// What was launched before kernels were switched on has no record, and may keep the device busy for
// as long as its queue is deep: until the first work that has one, where that waited for it.
void ActivityProcess::settleOnset(std::int64_t until) {
  const std::int64_t from = std::max(onset_.switched, emittedTo_);
  if (!onset_.open || from >= until) return;
  if (onset_.work == 0 || onset_.work >= until) return switches_.withoutKernels(from, until);
  onset_.open = false;
  if (onset_.launch == 0 || onset_.work - onset_.launch > kQueued)
    switches_.withoutKernels(from, onset_.work);
}

void ActivityProcess::emitTraces(std::int64_t until, const Sink& sink) {
  const auto emit = [&](std::int64_t from, std::int64_t to, std::uint32_t on, bool each) {
    if (on == 0 || to <= from) return;
    DeviceTrace trace;
    trace.process = process(sink);
    trace.duration = Nanos(to - from);
    trace.kernels = (on & STALLPROF_ON_KERNELS) != 0;
    trace.calls = (on & STALLPROF_ON_CALLS) != 0;
    trace.each = each;
    sink.out.emit(Nanos(from), trace);
  };
  const auto emitPieces = [&](std::int64_t from, std::int64_t to, std::uint32_t on) {
    for (const Interval& each : details_.intervals()) {
      if (each.end <= from || each.begin >= to) continue;
      emit(from, each.begin, on, false);
      emit(std::max(from, each.begin), std::min(to, each.end), on, true);
      from = std::min(to, each.end);
    }
    emit(from, to, on, false);
  };
  switches_.forEach(emittedTo_, until, emitPieces);
  switches_.forget(until - 10 * SecondTotals<WorkTotal>::kSecond);
  emittedTo_ = until;
}

void ActivityProcess::emitSpans(std::int64_t until, const Sink& sink) {
  const Nanos interval(emittedTo_ == 0 ? SecondTotals<WorkTotal>::kSecond : until - emittedTo_);
  devices_.forEach([&](std::uint32_t ordinal, ActivityDeviceState& device) {
    emitSpansOf(ordinal, device, until, interval, sink);
  });
}

void ActivityProcess::emitSpansOf(std::uint32_t ordinal, ActivityDeviceState& device,
                                  std::int64_t until, Nanos interval, const Sink& sink) {
  std::vector<BusySpan> spans;
  device.work.settle(until, kDeviceGap.count(), budget_.spansIn(interval), spans);
  if (device.work.takeLost() > 0) ++unreported_;
  for (const BusySpan& busy : spans) {
    DeviceSpan span;
    span.device = devices_.nameOf(ordinal, sink.out);
    span.process = process(sink);
    span.duration = Nanos(busy.end - busy.begin);
    span.busy = Nanos(busy.busy);
    span.copyOnly = Nanos(busy.copyOnly);
    span.collectiveOnly = Nanos(busy.collectiveOnly);
    span.works = busy.works;
    sink.out.emit(Nanos(busy.begin), span);
  }
}

void ActivityProcess::emitUses(std::int64_t until, const Sink& sink) {
  works_.settle(until, [&](std::int64_t second, auto& used) {
    std::sort(used.begin(), used.end(), kLargestFirst);
    std::map<std::uint64_t, WorkTotal> others;
    std::map<std::uint32_t, std::size_t> named;  // by device
    const auto emit = [&](const WorkOf& work, const WorkTotal& total, StringId name) {
      DeviceUse use;
      use.device = devices_.nameOf(work.device, sink.out);
      use.process = process(sink);
      use.duration = Nanos(SecondTotals<WorkTotal>::kSecond);
      use.kind = work.kind;
      use.memory = work.memory;
      use.name = name;
      use.count = total.count;
      use.time = Nanos(total.time);
      const bool kernel =
          work.kind == DeviceWorkKind::kKernel || work.kind == DeviceWorkKind::kCollective;
      if (kernel && total.allFilled) use.filled = nanos(total.filled);
      if (!kernel && work.kind != DeviceWorkKind::kGraph) use.bytes = total.bytes;
      sink.out.emit(Nanos(second), use);
    };
    for (const auto* entry : used) {
      const WorkOf work = workOf(entry->key);
      if (work.name == 0) {
        emit(work, entry->total, {});
      } else if (named[work.device]++ < budget_.names()) {
        emit(work, entry->total, names_.at(work.name).text);
      } else {
        WorkTotal& other = others[workKey(work.device, work.kind, work.memory, 0)];
        other.count += entry->total.count;
        other.time += entry->total.time;
        other.filled += entry->total.filled;
        other.allFilled = other.allFilled && entry->total.allFilled;
      }
    }
    for (const auto& [key, total] : others) emit(workOf(key), total, sink.out.intern("(other)"));
  });
}

void ActivityProcess::emitCalls(std::int64_t until, const Sink& sink) {
  calls_.settle(until, [&](std::int64_t second, auto& used) {
    std::sort(used.begin(), used.end(), kLargestFirst);
    std::map<DeviceCallKind, CallTotal> others;
    const auto emit = [&](DeviceCallKind kind, const CallTotal& total, ThreadId by, StringId name) {
      DeviceCallUse use;
      use.thread = by;
      use.duration = Nanos(SecondTotals<CallTotal>::kSecond);
      use.kind = kind;
      use.name = name;
      use.count = total.count;
      use.time = Nanos(total.time);
      use.process = process(sink);
      sink.out.emit(Nanos(second), use);
    };
    for (std::size_t i = 0; i < used.size(); ++i) {
      const auto& [key, total, isUsed] = *used[i];
      const DeviceCallKind kind = callOf(key).kind;
      if (i < 2 * budget_.names()) {
        emit(kind, total, thread(threadOf(key), sink), callName(key, sink));
      } else {
        others[kind].count += total.count;
        others[kind].time += total.time;
      }
    }
    for (const auto& [kind, total] : others) emit(kind, total, {}, sink.out.intern("(other)"));
  });
}

void ActivityProcess::lose(LossKind kind, std::uint64_t& count, const char* detail,
                           const Sink& sink) {
  if (count > 0) sink.out.emit(sink.now, Loss{kind, count, sink.out.intern(detail)});
  count = 0;
}

void ActivityProcess::emitLosses(const Sink& sink) {
  lose(LossKind::kDeviceDamaged, damagedBytes_, "bytes that cannot be records", sink);
  lose(LossKind::kDeviceInvalid, invalid_, "records without a time of this run", sink);
  lose(LossKind::kDeviceDropped, unfinished_, "records unfinished when the process ended", sink);
  lose(LossKind::kDeviceDropped, unreported_, "too many to be reported one by one", sink);
}

}  // namespace stallprof
