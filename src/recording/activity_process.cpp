// SPDX-License-Identifier: MIT
#include "recording/activity_process.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "recording/activity_calls.h"
#include "recording/activity_keys.h"
#include "recording/activity_work.h"

namespace stallprof {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// A device's clock and the host's agree to microseconds; what is further in the future than this,
// or before the recorder began, is not a time of this run.
constexpr std::int64_t kTimeSlack = kSecond;
constexpr std::size_t kContexts = 1024;
// Work that waits for its flush: 2 s of 250,000 kernels a second, 12 MB.
constexpr std::size_t kPendingWorks = 500'000;
constexpr std::size_t kSwitchesKept = 4096;
constexpr std::uint32_t kCountsStarved = 27;  // cuptiGetVersion() of CUDA 12.9
// Calls and copies from here on have an event of their own (semantics: DeviceCall, DeviceWork).
constexpr std::int64_t kLongCall = 100'000;
constexpr std::int64_t kLongCopy = 1'000'000;
// When everything is told of: after libraries have loaded and chosen their kernels.
constexpr std::int64_t kEachAfter = 3 * kSecond;
constexpr std::int64_t kEachEvery = 60 * kSecond;
constexpr std::size_t kNamesMost = STALLPROF_NAME_BYTES / sizeof(stallprof_name);

}  // namespace

ActivityProcess::~ActivityProcess() {
  for (const auto& device : devices_)
    if (device && device->used) budget_.removeDevice();
}

void ActivityProcess::control(const AreaControl& area, const Sink& sink) {
  const std::uint64_t head = area.clockHead;
  std::uint64_t first =
      std::max(clocksRead_, head - std::min<std::uint64_t>(head, STALLPROF_ACTIVITY_CLOCKS));
  for (; first < head; ++first) clock_.add(area.clock[first % STALLPROF_ACTIVITY_CLOCKS]);
  clocksRead_ = head;
  takeSwitches(area);
  takeLosses(area, sink);
  area_ = area;
  takeState(area);
  planEach(sink);
}

void ActivityProcess::takeSwitches(const AreaControl& area) {
  const std::uint64_t head = area.switchHead;
  const std::uint64_t oldest = head - std::min<std::uint64_t>(head, STALLPROF_ACTIVITY_SWITCHES);
  if (switchesRead_ < oldest && !switches_.empty()) {
    stallprof_switch unknown = switches_.back();  // what came between was overwritten
    unknown.on = 0;
    switches_.push_back(unknown);
  }
  for (std::uint64_t i = std::max(switchesRead_, oldest); i < head; ++i) {
    const stallprof_switch& entry = area.onoff[i % STALLPROF_ACTIVITY_SWITCHES];
    const std::uint64_t last = switches_.empty() ? 0 : switches_.back().monotonic;
    if (entry.monotonic >= last && entry.monotonic < std::uint64_t{INT64_MAX})
      switches_.push_back(entry);
  }
  switchesRead_ = head;
  if (switches_.size() > kSwitchesKept)
    switches_.erase(switches_.begin(),
                    switches_.begin() + static_cast<std::ptrdiff_t>(kSwitchesKept / 2));
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

void ActivityProcess::takeLosses(const AreaControl& area, const Sink& sink) {
  const auto grown = [&](std::uint64_t now, std::uint64_t before, LossKind kind,
                         const char* detail) {
    std::uint64_t count = now > before ? now - before : 0;
    lose(kind, count, detail, sink);
  };
  grown(area.dropped, area_.dropped, LossKind::kDeviceDropped, "records that CUPTI dropped");
  // From 12.9 on the agent may give CUPTI none, and CUPTI counts what that costs.
  if (area.cuptiVersion < kCountsStarved)
    grown(area.starved, area_.starved, LossKind::kDeviceDropped,
          "times that CUPTI had no buffer to write to");
  grown(area.namesLost, area_.namesLost, LossKind::kStringsFull, "names of kernels");
}

void ActivityProcess::names(std::span<const std::uint8_t> bytes, const Sink& sink) {
  namesRead_ += bytes.size();
  while (!namesBroken_ && !bytes.empty()) {
    stallprof_name header{};
    if (bytes.size() < sizeof header) break;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t padded = (std::size_t{header.length} + 7) & ~std::size_t{7};
    namesBroken_ = header.length > STALLPROF_NAME_LIMIT || header.number != names_.size() + 1 ||
                   padded > bytes.size() - sizeof header || names_.size() >= kNamesMost;
    if (namesBroken_) break;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header,
                                header.length);
    names_.push_back({sink.out.intern(text), header.pointer, isCollective(text)});
    byPointer_[header.pointer] = header.number;
    bytes = bytes.subspan(sizeof header + padded);
  }
  damagedBytes_ += bytes.size();  // no entry: all that follows has no names
}

// A number, or the pointer that was never replaced by one. 0: no name.
std::uint32_t ActivityProcess::nameNumber(std::uint64_t word) const {
  if (word < STALLPROF_NAME_NUMBERS)
    return word <= names_.size() ? static_cast<std::uint32_t>(word) : 0;
  const auto found = byPointer_.find(word);
  return found == byPointer_.end() ? 0 : found->second;
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
    ++(torn_ ? unfinished_ : invalid_);
    return;
  }
  switch (record.kind) {
    case ActivityKind::kRuntimeCall:
    case ActivityKind::kDriverCall:
    case ActivityKind::kOverhead:
      return takeCall(record, *when, sink);
    case ActivityKind::kSync:
      // The calls themselves say more, where they are recorded; 2 is a wait of a stream, not ours.
      if (record.code == 2 || (onAt(when->begin) & STALLPROF_ON_CALLS) != 0) return;
      return takeCall(record, *when, sink);
    default:
      return takeWork(record, *when, sink);
  }
}

std::optional<ActivityProcess::Stretch> ActivityProcess::timeOf(const ActivityRecord& record,
                                                                Nanos now) {
  if (record.start == 0 || record.end < record.start) return std::nullopt;
  const auto when = clock_.stretch(record.start, record.end);
  if (!when || when->end < when->begin || when->begin < since_.count() - kTimeSlack ||
      when->end > now.count() + kTimeSlack)
    return std::nullopt;
  return when;
}

void ActivityProcess::takeDevice(const ActivityRecord& record, const Sink& sink) {
  Device* device = deviceOf(record.device);
  if (device == nullptr) return damaged(1);
  const ActivityDevice details = deviceIn(record);
  std::string uuid = details.mig ? "MIG-" : "GPU-";
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < sizeof details.uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += kDigits[details.uuid[i] >> 4];
    uuid += kDigits[details.uuid[i] & 15];
  }
  const StringId name = sink.out.intern(uuid);
  if (device->name == name) return;  // told again for each context
  device->name = name;
  device->multiprocessors = details.multiprocessors > 0 ? details.multiprocessors : -1;
  DeviceSeen seen;
  seen.device = name;
  if (const std::uint32_t number = nameNumber(record.name); number > 0)
    seen.name = names_[number - 1].text;
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

ActivityProcess::Device* ActivityProcess::deviceOf(std::uint32_t ordinal) {
  if (ordinal >= devices_.size()) return nullptr;
  if (!devices_[ordinal]) devices_[ordinal] = std::make_unique<Device>();
  return devices_[ordinal].get();
}

// A graph that spans devices has none of its own: then the one its context is of.
std::uint32_t ActivityProcess::ordinalOf(const ActivityRecord& record) {
  if (record.device < devices_.size()) {
    const std::uint64_t both = std::uint64_t{record.context} << 32 | record.device;
    if (both != lastContext_ && deviceOfContext_.size() < kContexts)
      deviceOfContext_[record.context] = record.device;
    lastContext_ = both;
    return record.device;
  }
  const auto found = deviceOfContext_.find(record.context);
  return found != deviceOfContext_.end() ? found->second : record.device;
}

void ActivityProcess::addUp(const DeviceWork& work, const Device& device, WorkTotal& total) {
  ++total.count;
  total.time += work.duration.count();
  if (work.bytes >= 0 && __builtin_add_overflow(total.bytes, work.bytes, &total.bytes))
    total.bytes = INT64_MAX;
  if (work.blocks < 0 || device.multiprocessors <= 0) {
    total.allFilled = false;
    return;
  }
  const double share = static_cast<double>(work.blocks) / device.multiprocessors;
  total.filled += static_cast<double>(work.duration.count()) * std::min(share, 1.0);
}

void ActivityProcess::takeWork(const ActivityRecord& record, const Stretch& when,
                               const Sink& sink) {
  const std::uint32_t ordinal = ordinalOf(record);
  Device* device = deviceOf(ordinal);
  if (device == nullptr) {
    ++invalid_;
    return;
  }
  const bool kernel =
      record.kind == ActivityKind::kConcurrentKernel || record.kind == ActivityKind::kKernel;
  const std::uint32_t name = kernel ? nameNumber(record.name) : 0;
  DeviceWork work = workOfRecord(record, name > 0 && names_[name - 1].collective);
  work.duration = Nanos(when.end - when.begin);
  if (firstWork_ == 0) firstWork_ = when.begin;
  if (!std::exchange(device->used, true)) budget_.addDevice();
  device->work.add(when.begin, when.end, busyWith(work.kind));
  WorkTotal* total = works_.at(when.end, workKey(ordinal, work.kind, work.memory, name));
  if (total == nullptr) total = works_.at(when.end, workKey(ordinal, work.kind, work.memory, 0));
  if (total != nullptr)
    addUp(work, *device, *total);
  else
    ++untold_;

  const bool each = withinEach(when);
  const bool longCopy = work.bytes >= 0 && work.duration.count() >= kLongCopy;
  if (!each && !(longCopy && budget_.longCopy())) return;
  if (each) payEach(ActivityBudget::kWorkBytes);
  work.device = deviceName(ordinal, sink);
  work.process = process(sink);
  if (name > 0) work.name = names_[name - 1].text;
  work.stream = record.stream;
  work.context = record.context;
  work.correlation = record.correlation;
  sink.out.emit(Nanos(when.begin), work);
}

void ActivityProcess::takeCall(const ActivityRecord& record, const Stretch& when,
                               const Sink& sink) {
  const std::uint64_t key = callKey(record);
  const std::int64_t duration = when.end - when.begin;
  if (CallTotal* total = calls_.at(when.end, key); total != nullptr) {
    ++total->count;
    total->time += duration;
  } else {
    ++untold_;
  }
  if (record.kind == ActivityKind::kOverhead) return;
  const bool each = withinEach(when);
  if (!each && duration < kLongCall) return;
  if (each) {
    payEach(ActivityBudget::kCallBytes);
  } else if (!budget_.longCall()) {
    ++untold_;
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

std::uint32_t ActivityProcess::onAt(std::int64_t instant) const {
  for (std::size_t i = switches_.size(); i-- > 0;)
    if (static_cast<std::int64_t>(switches_[i].monotonic) <= instant) return switches_[i].on;
  return 0;
}

bool ActivityProcess::withinEach(const Stretch& when) const {
  return std::any_of(each_.begin(), each_.end(), [&](const Stretch& stretch) {
    return when.begin < stretch.end && when.end >= stretch.begin;
  });
}

void ActivityProcess::payEach(std::int64_t bytes) {
  budget_.payEach(bytes);
  eachPaid_ += bytes;
}

// Decided before its time comes: all that ends within it is still to be read. Cut, but for its
// first second, where more comes than was thought.
void ActivityProcess::planEach(const Sink& sink) {
  const std::int64_t now = sink.now.count();
  if (!each_.empty() && static_cast<double>(eachPaid_) > 2 * ActivityBudget::kEachOnce) {
    Stretch& last = each_.back();
    last.end = std::min(last.end, std::max(now, last.begin + kSecond));
  }
  while (!each_.empty() && each_.front().end < told_ - 10 * kSecond) each_.erase(each_.begin());
  if (firstWork_ == 0 || now < firstWork_ + kEachAfter || now < nextEach_ || switches_.empty() ||
      (switches_.back().on & STALLPROF_ON_KERNELS) == 0 || area_.state != STALLPROF_AGENT_TRACING)
    return;
  const Nanos length = budget_.eachFor(bytesPerSecond_);
  if (length == Nanos{}) return;
  each_.push_back({now, now + length.count()});
  eachPaid_ = 0;
  nextEach_ = now + kEachEvery;
}

void ActivityProcess::settle(const Sink& sink) {
  for (std::uint32_t i = 0; i < devices_.size(); ++i)
    if (devices_[i] && devices_[i]->work.pending() > kPendingWorks)
      tellSpansOf(i, *devices_[i], devices_[i]->work.middle(), Nanos(kSecond), sink);
  tellLosses(sink);
  if (area_.flushed >= std::uint64_t{INT64_MAX}) return;
  const auto until = std::min(static_cast<std::int64_t>(area_.flushed), sink.now.count());
  if (until <= told_) return;
  const double passed = static_cast<double>(until - told_) / kSecond;
  if (told_ != 0)
    bytesPerSecond_ = static_cast<double>(recordsNow_) * ActivityBudget::kWorkBytes / passed;
  recordsNow_ = 0;
  tellSpans(until, sink);
  tellUses(until, sink);
  tellCalls(until, sink);
  tellTraces(until, sink);
  threads_.clear();  // a number may be another thread's by the next time
}

void ActivityProcess::end(const Sink& sink) {
  settle(sink);
  const std::int64_t all = sink.now.count() + 2 * kTimeSlack;
  tellSpans(all, sink);
  tellUses(INT64_MAX, sink);
  tellCalls(INT64_MAX, sink);
  tellLosses(sink);
}

}  // namespace stallprof
