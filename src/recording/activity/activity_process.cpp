// SPDX-License-Identifier: MIT
#include "recording/activity/activity_process.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "recording/activity/activity_work.h"
#include "recording/cupti/activity_keys.h"

namespace stallprof {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// A device's clock and the host's agree to microseconds; what is further in the future than this,
// or before the recorder began, is not a time of this run.
constexpr std::int64_t kTimeSlack = kSecond;
// Work that waits for its flush: 2 s of 250,000 kernels a second, 12 MB.
constexpr std::size_t kPendingWorks = 500'000;
constexpr std::uint32_t kCountsStarved = 27;  // cuptiGetVersion() of CUDA 12.9
// Copies from here on have an event of their own (DeviceWork), as calls from kLongCall on.
constexpr std::int64_t kLongCopy = 1'000'000;

bool isWork(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kDevice:
    case ActivityKind::kRuntime:
    case ActivityKind::kDriver:
    case ActivityKind::kOverhead:
    case ActivityKind::kSynchronization:
      return false;
    default:
      return true;
  }
}

}  // namespace

void ActivityProcess::control(const AreaControl& area, const Sink& sink) {
  const std::uint64_t head = area.clockHead;
  std::uint64_t first =
      std::max(clocksRead_, head - std::min<std::uint64_t>(head, STALLPROF_ACTIVITY_CLOCKS));
  for (; first < head; ++first) clock_.add(area.clock[first % STALLPROF_ACTIVITY_CLOCKS]);
  clocksRead_ = head;
  switches_.take(area);
  // What is missing may have been at any time that is not yet reported, and until now.
  if (takeLosses(area, sink)) switches_.lose(emittedTo_, sink.now.count());
  area_ = area;
  takeState(area);
  // The first is within cuInit, nothing launched before, or at a turn, the device synchronized.
  if (const std::int64_t since = switches_.kernelsSince(); since > onset_.switched)
    onset_ = {since, onset_.switched != 0};
  const bool traced = recordsKernels() && area_.state == STALLPROF_AGENT_TRACING;
  details_.plan(sink.now.count(), firstWork_, emittedTo_, traced);
}

void ActivityProcess::takeState(const AreaControl& area) {
  std::string why(area.why, ::strnlen(area.why, sizeof area.why));
  switch (area.state) {
    case STALLPROF_AGENT_TRACING:
    case STALLPROF_AGENT_ENDED:
      report_ = Report{why.empty() ? Coverage::kFull : Coverage::kPartial, why};
      break;
    case STALLPROF_AGENT_YIELDED:
      report_ = Report{Coverage::kPartial,
                       why.empty() ? "another tool of the process has CUPTI for now" : why};
      break;
    case STALLPROF_AGENT_REFUSED:
      if (why.empty()) why = "CUPTI refused, with error " + std::to_string(area.error);
      report_ = Report{Coverage::kAbsent, why};
      break;
    case STALLPROF_AGENT_HUNG:
      report_ = Report{Coverage::kPartial,
                       why.empty() ? "a call into CUPTI did not come back: not traced since" : why};
      break;
    default:
      return;
  }
  if (report_->state == Coverage::kFull && clock_.breaks() > 0)
    report_ = Report{Coverage::kPartial,
                     "the device's clock was set or went at another rate: no times for a while"};
}

// True: records of work or calls are missing.
bool ActivityProcess::takeLosses(const AreaControl& area, const Sink& sink) {
  const auto grown = [&](std::uint64_t now, std::uint64_t before, LossKind kind,
                         const char* detail) {
    std::uint64_t count = now > before ? now - before : 0;
    lose(kind, count, detail, sink);
    return now > before;
  };
  grown(area.namesLost, area_.namesLost, LossKind::kStringsFull, "names of kernels");
  const bool dropped =
      grown(area.dropped, area_.dropped, LossKind::kDeviceDropped, "records that CUPTI dropped");
  // From 12.9 on the agent may give CUPTI no buffer, and CUPTI counts what that costs, when it is
  // asked: at the next flush.
  const bool starved = area.starved > area_.starved;
  if (area.cuptiVersion < kCountsStarved)
    grown(area.starved, area_.starved, LossKind::kDeviceDropped,
          "times that CUPTI had no buffer to write to");
  return dropped || starved;
}

void ActivityProcess::names(std::span<const std::uint8_t> bytes, const Sink& sink) {
  damagedBytes_ += names_.take(bytes, sink.out);  // what follows no entry has no names
}

void ActivityProcess::buffer(std::span<const std::uint8_t> bytes, bool torn, const Sink& sink) {
  torn_ = torn;
  ActivityReader reader({bytes,
                         std::span<const std::uint32_t, STALLPROF_ACTIVITY_KINDS>(area_.stride),
                         area_.cuptiVersion, torn});
  while (const ActivityRecord* record = reader.next()) {
    take(*record, sink);
    ++recordsNow_;
  }
  damagedBytes_ += reader.damagedBytes();
}

void ActivityProcess::take(const ActivityRecord& record, const Sink& sink) {
  if (record.kind == ActivityKind::kDevice) return takeDevice(record, sink);
  const auto when = timeOf(record, sink.now);
  if (!when) {
    // Work that was unfinished at a flush by force, before which all was switched off.
    if (isWork(record.kind) && record.start == 0 && !torn_ && !recordsKernels()) return;
    ++(torn_ ? unfinished_ : invalid_);
    untimed_ = untimed_ || isWork(record.kind);
    return;
  }
  switch (record.kind) {
    case ActivityKind::kRuntime:
    case ActivityKind::kDriver:
    case ActivityKind::kOverhead:
      return takeCall(record, *when, sink);
    case ActivityKind::kSynchronization:
      // The calls themselves say more, where they are recorded; 2 is a wait of a stream, not ours.
      if (record.code == 2 || (switches_.onAt(when->begin) & STALLPROF_ON_CALLS) != 0) return;
      return takeCall(record, *when, sink);
    default:
      return takeWork(record, *when, sink);
  }
}

std::optional<ActivityProcess::Interval> ActivityProcess::timeOf(const ActivityRecord& record,
                                                                 Nanos now) {
  if (record.start == 0 || record.end < record.start) return std::nullopt;
  const auto when = clock_.interval(record.start, record.end);
  if (!when || when->end < when->begin || when->begin < since_.count() - kTimeSlack ||
      when->end > now.count() + kTimeSlack)
    return std::nullopt;
  return when;
}

void ActivityProcess::takeDevice(const ActivityRecord& record, const Sink& sink) {
  ActivityDeviceState* device = devices_.at(record.device);
  if (device == nullptr) return damaged(1);
  const ActivityDevice details = deviceIn(record);
  const StringId name = sink.out.intern(ActivityDevices::uuidText(details));
  if (device->name == name) return;  // reported again for each context
  device->name = name;
  device->multiprocessors = details.multiprocessors > 0 ? details.multiprocessors : -1;
  DeviceSeen seen;
  seen.device = name;
  seen.name = names_.at(names_.numberOf(record.name)).text;
  seen.process = process(sink);
  seen.ordinal = static_cast<std::int32_t>(record.device);
  seen.multiprocessors = device->multiprocessors;
  seen.majorCapability = details.major;
  seen.minorCapability = details.minor;
  seen.memoryBytes = record.bytes <= static_cast<std::uint64_t>(INT64_MAX)
                         ? static_cast<std::int64_t>(record.bytes)
                         : -1;
  sink.out.emit(sink.now, seen);
}

void ActivityProcess::addUp(const DeviceWork& work, std::int32_t multiprocessors,
                            WorkTotal& total) {
  ++total.count;
  total.time += work.duration.count();
  if (work.bytes >= 0 && __builtin_add_overflow(total.bytes, work.bytes, &total.bytes))
    total.bytes = INT64_MAX;
  if (work.blocks < 0 || multiprocessors <= 0) {
    total.allFilled = false;
    return;
  }
  const double share = static_cast<double>(work.blocks) / multiprocessors;
  total.filled += static_cast<double>(work.duration.count()) * std::min(share, 1.0);
}

void ActivityProcess::takeWork(const ActivityRecord& record, const Interval& when,
                               const Sink& sink) {
  const std::uint32_t ordinal = devices_.ordinalOf(record);
  ActivityDeviceState* device = devices_.at(ordinal);
  if (device == nullptr) {
    ++invalid_;
    return;
  }
  const bool kernel =
      record.kind == ActivityKind::kConcurrentKernel || record.kind == ActivityKind::kKernel;
  const std::uint32_t name = kernel ? names_.numberOf(record.name) : 0;
  DeviceWork work = workOfRecord(record, names_.at(name).collective);
  work.duration = Nanos(when.end - when.begin);
  if (firstWork_ == 0) firstWork_ = when.begin;
  devices_.setUsed(*device);
  device->work.add(when.begin, when.end, busyWith(work.kind));
  onset_.add(&Onset::work, when.begin);
  WorkTotal* total = works_.at(when.end, workKey(ordinal, work.kind, work.memory, name));
  if (total == nullptr) total = works_.at(when.end, workKey(ordinal, work.kind, work.memory, 0));
  if (total != nullptr)
    addUp(work, device->multiprocessors, *total);
  else
    ++unreported_;

  const bool each = details_.within(when);
  const bool longCopy = work.bytes >= 0 && work.duration.count() >= kLongCopy;
  if (!each && !(longCopy && budget_.longCopy())) return;
  if (each) details_.pay(ActivityBudget::kWorkBytes);
  work.device = devices_.nameOf(ordinal, sink.out);
  work.process = process(sink);
  work.name = names_.at(name).text;
  work.stream = record.stream;
  work.context = record.context;
  work.correlation = record.correlation;
  sink.out.emit(Nanos(when.begin), work);
}

void ActivityProcess::takeCall(const ActivityRecord& record, const Interval& when,
                               const Sink& sink) {
  const std::uint64_t key = callKey(record);
  const std::int64_t duration = when.end - when.begin;
  if (CallTotal* total = calls_.at(when.end, key); total != nullptr) {
    ++total->count;
    total->time += duration;
  } else {
    ++unreported_;
  }
  if (record.kind == ActivityKind::kOverhead) return;
  if (callOf(key).kind == DeviceCallKind::kLaunch) onset_.add(&Onset::launch, when.begin);
  const bool each = details_.within(when);
  if (!each && Nanos(duration) < kLongCall) return;
  if (each) {
    details_.pay(ActivityBudget::kCallBytes);
  } else if (!budget_.longCall()) {
    ++unreported_;
    return;
  }
  DeviceCall call;
  call.thread = thread(record.thread, sink);
  call.duration = Nanos(duration);
  call.kind = callOf(key).kind;
  call.name = callName(key, sink);
  call.correlation = record.correlation;
  call.process = process(sink);
  sink.out.emit(Nanos(when.begin), call);
}

void ActivityProcess::settle(const Sink& sink) {
  if (std::exchange(untimed_, false)) switches_.lose(emittedTo_, sink.now.count());
  devices_.forEach([&](std::uint32_t ordinal, ActivityDeviceState& device) {
    if (device.work.pending() > kPendingWorks)
      emitSpansOf(ordinal, device, device.work.middle(), Nanos(kSecond), sink);
  });
  emitLosses(sink);
  if (area_.flushed >= std::uint64_t{INT64_MAX}) return;
  const auto until = std::min(static_cast<std::int64_t>(area_.flushed), sink.now.count());
  if (until <= emittedTo_) return;
  if (emittedTo_ != 0) details_.setRate(recordsNow_, until - emittedTo_);
  recordsNow_ = 0;
  emitSpans(until, sink);
  emitUses(until, sink);
  emitCalls(until, sink);
  settleOnset(until);
  emitTraces(until, sink);
  threads_.clear();  // a number may be another thread's by the next time
}

void ActivityProcess::end(const Sink& sink) {
  settle(sink);
  const std::int64_t all = sink.now.count() + 2 * kTimeSlack;
  emitSpans(all, sink);
  emitUses(INT64_MAX, sink);
  emitCalls(INT64_MAX, sink);
  emitLosses(sink);
}

}  // namespace stallprof
