// SPDX-License-Identifier: MIT
// The half of ActivityProcess that puts out what has settled.
#include <algorithm>
#include <map>

#include "recording/activity_keys.h"
#include "recording/activity_process.h"

namespace stallprof {
namespace {

std::string_view syncName(std::uint32_t type) {
  switch (type) {  // CUpti_ActivitySynchronizationType
    case 1:
      return "(event synchronize)";
    case 3:
      return "(stream synchronize)";
    case 4:
      return "(context synchronize)";
    default:
      return "(synchronize)";
  }
}

// What CUDA and CUPTI themselves cost, as they tell it; only CUPTI's own part is ours.
std::string_view overheadName(std::uint32_t kind) {
  switch (kind >> 16) {  // CUpti_ActivityOverheadKind
    case 0:
      return "(driver compiler)";
    case 4:
      return "(module loading)";
    case 5:
      return "(lazy function loading)";
    case 6:
      return "(command buffer full)";
    default:
      return "(tracing)";
  }
}

// The same order in every run of the same records.
constexpr auto mostFirst = [](const auto* a, const auto* b) {
  return a->total.time != b->total.time ? a->total.time > b->total.time : a->key < b->key;
};

Nanos nanos(double ns) { return Nanos(static_cast<std::int64_t>(std::min(ns, 9e18))); }

}  // namespace

CallOf callOf(std::uint64_t key) {
  const auto number = static_cast<std::uint32_t>(key & 0xFFFFFFu);
  ActivityCall call;
  switch (static_cast<CallFrom>(key >> 24 & 255)) {
    case CallFrom::kRuntime:
      call = runtimeCall(number);
      break;
    case CallFrom::kDriver:
      call = driverCall(number);
      break;
    case CallFrom::kSync:
      call = {DeviceCallKind::kSync, syncName(number)};
      break;
    case CallFrom::kOverhead:
      call = {DeviceCallKind::kOther, overheadName(number)};
      break;
  }
  return {call.kind, call.name, number};
}

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

StringId ActivityProcess::deviceName(std::uint32_t ordinal, const Sink& sink) {
  if (ordinal < devices_.size() && devices_[ordinal] && !devices_[ordinal]->name.none())
    return devices_[ordinal]->name;
  return sink.out.intern("device " + std::to_string(ordinal));  // its own record was lost
}

void ActivityProcess::tellTraces(std::int64_t until, const Sink& sink) {
  std::int64_t begin = told_;
  const auto tell = [&](std::int64_t from, std::int64_t to, std::uint32_t on, bool each) {
    if (on == 0 || to <= from) return;
    DeviceTrace trace;
    trace.process = process(sink);
    trace.duration = Nanos(to - from);
    trace.kernels = (on & STALLPROF_ON_KERNELS) != 0;
    trace.calls = (on & STALLPROF_ON_CALLS) != 0;
    trace.each = each;
    sink.out.emit(Nanos(from), trace);
  };
  const auto tellPieces = [&](std::int64_t from, std::int64_t to, std::uint32_t on) {
    for (const Stretch& each : each_) {
      if (each.end <= from || each.begin >= to) continue;
      tell(from, each.begin, on, false);
      tell(std::max(from, each.begin), std::min(to, each.end), on, true);
      from = std::min(to, each.end);
    }
    tell(from, to, on, false);
  };
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    const std::int64_t from = std::max(begin, static_cast<std::int64_t>(switches_[i].monotonic));
    const std::int64_t to =
        i + 1 < switches_.size()
            ? std::min(until, static_cast<std::int64_t>(switches_[i + 1].monotonic))
            : until;
    if (to > from) tellPieces(from, to, switches_[i].on);
  }
  // Of what is told only the state at its end still matters.
  while (switches_.size() > 1 && static_cast<std::int64_t>(switches_[1].monotonic) <=
                                     until - 10 * SecondTotals<WorkTotal>::kSecond)
    switches_.erase(switches_.begin());
  told_ = until;
}

void ActivityProcess::tellSpans(std::int64_t until, const Sink& sink) {
  const Nanos stretch(told_ == 0 ? SecondTotals<WorkTotal>::kSecond : until - told_);
  for (std::uint32_t i = 0; i < devices_.size(); ++i)
    if (devices_[i]) tellSpansOf(i, *devices_[i], until, stretch, sink);
}

void ActivityProcess::tellSpansOf(std::uint32_t ordinal, Device& device, std::int64_t until,
                                  Nanos stretch, const Sink& sink) {
  std::vector<BusySpan> spans;
  device.work.settle(until, kDeviceGap.count(), budget_.spansIn(stretch), spans);
  if (device.work.takeLost() > 0) ++untold_;
  for (const BusySpan& busy : spans) {
    DeviceSpan span;
    span.device = deviceName(ordinal, sink);
    span.process = process(sink);
    span.duration = Nanos(busy.end - busy.begin);
    span.busy = Nanos(busy.busy);
    span.copyOnly = Nanos(busy.copyOnly);
    span.collectiveOnly = Nanos(busy.collectiveOnly);
    span.works = busy.works;
    sink.out.emit(Nanos(busy.begin), span);
  }
}

void ActivityProcess::tellUses(std::int64_t until, const Sink& sink) {
  works_.settle(until, [&](std::int64_t second, auto& used) {
    std::sort(used.begin(), used.end(), mostFirst);
    std::map<std::uint64_t, WorkTotal> others;
    std::map<std::uint32_t, std::size_t> named;  // by device
    const auto tell = [&](const WorkOf& work, const WorkTotal& total, StringId name) {
      DeviceUse use;
      use.device = deviceName(work.device, sink);
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
        tell(work, entry->total, {});
      } else if (named[work.device]++ < budget_.names()) {
        tell(work, entry->total, names_[work.name - 1].text);
      } else {
        WorkTotal& other = others[workKey(work.device, work.kind, work.memory, 0)];
        other.count += entry->total.count;
        other.time += entry->total.time;
        other.filled += entry->total.filled;
        other.allFilled = other.allFilled && entry->total.allFilled;
      }
    }
    for (const auto& [key, total] : others) tell(workOf(key), total, sink.out.intern("(other)"));
  });
}

void ActivityProcess::tellCalls(std::int64_t until, const Sink& sink) {
  calls_.settle(until, [&](std::int64_t second, auto& used) {
    std::sort(used.begin(), used.end(), mostFirst);
    std::map<DeviceCallKind, CallTotal> others;
    const auto tell = [&](DeviceCallKind kind, const CallTotal& total, ThreadId by, StringId name) {
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
        tell(kind, total, thread(threadOf(key), sink), callName(key, sink));
      } else {
        others[kind].count += total.count;
        others[kind].time += total.time;
      }
    }
    for (const auto& [kind, total] : others) tell(kind, total, {}, sink.out.intern("(other)"));
  });
}

void ActivityProcess::lose(LossKind kind, std::uint64_t& count, const char* detail,
                           const Sink& sink) {
  if (count > 0) sink.out.emit(sink.now, Loss{kind, count, sink.out.intern(detail)});
  count = 0;
}

void ActivityProcess::tellLosses(const Sink& sink) {
  lose(LossKind::kDeviceDamaged, damagedBytes_, "bytes that cannot be records", sink);
  lose(LossKind::kDeviceInvalid, invalid_, "records without a time of this run", sink);
  lose(LossKind::kDeviceDropped, unfinished_, "records unfinished when the process ended", sink);
  lose(LossKind::kDeviceDropped, untold_, "too many to be told of one by one", sink);
}

}  // namespace stallprof
