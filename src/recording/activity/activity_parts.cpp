// SPDX-License-Identifier: MIT
#include "recording/activity/activity_parts.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "event/collectives.h"
#include "recording/memory/activity_memory.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxNames = STALLPROF_NAME_BYTES / sizeof(stallprof_name);
constexpr std::size_t kMaxContexts = 1024;
constexpr std::size_t kSwitchesKept = 4096;
// In `reserved`: nothing was switched, what is known begins or ends there.
constexpr std::uint32_t kResumed = 1;

}  // namespace

std::uint64_t ActivityNames::take(std::span<const std::uint8_t> bytes, EventOut& out) {
  bytesRead_ += bytes.size();
  while (!broken_ && !bytes.empty()) {
    stallprof_name header{};
    if (bytes.size() < sizeof header) break;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t padded = (std::size_t{header.length} + 7) & ~std::size_t{7};
    const bool isNew = header.number == names_.size() + 1;
    broken_ =
        header.length > STALLPROF_NAME_LIMIT || padded > bytes.size() - sizeof header ||
        (isNew ? names_.size() >= kMaxNames : header.number > names_.size() || header.length != 0);
    if (broken_) break;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header,
                                header.length);
    if (isNew) names_.push_back({out.intern(text), isCollective(text)});
    if (header.number != 0)
      byPointer_[header.pointer] = header.number;
    else
      byPointer_.clear();
    bytes = bytes.subspan(sizeof header + padded);
  }
  return bytes.size();
}

std::uint32_t ActivityNames::numberOf(std::uint64_t word) const {
  if (word < STALLPROF_NAME_NUMBERS)
    return word <= names_.size() ? static_cast<std::uint32_t>(word) : 0;
  const auto found = byPointer_.find(word);
  return found == byPointer_.end() ? 0 : found->second;
}

ActivityDevices::~ActivityDevices() {
  for (const auto& device : devices_)
    if (device && device->used) budget_.removeDevice();
}

ActivityDeviceState* ActivityDevices::at(std::uint32_t ordinal) {
  if (ordinal >= devices_.size()) return nullptr;
  if (!devices_[ordinal]) devices_[ordinal] = std::make_unique<ActivityDeviceState>();
  return devices_[ordinal].get();
}

std::uint32_t ActivityDevices::ordinalOf(const ActivityRecord& record) {
  if (record.device < devices_.size()) {
    const std::uint64_t both = std::uint64_t{record.context} << 32 | record.device;
    if (both != lastContext_ && deviceOfContext_.size() < kMaxContexts)
      deviceOfContext_[record.context] = record.device;
    lastContext_ = both;
    return record.device;
  }
  const auto found = deviceOfContext_.find(record.context);
  return found != deviceOfContext_.end() ? found->second : record.device;
}

void ActivityDevices::setUsed(ActivityDeviceState& device) {
  if (!std::exchange(device.used, true)) budget_.addDevice();
}

StringId ActivityDevices::nameOf(std::uint32_t ordinal, EventOut& out) const {
  if (ordinal < devices_.size() && devices_[ordinal] && !devices_[ordinal]->name.none())
    return devices_[ordinal]->name;
  return out.intern("device " + std::to_string(ordinal));  // its own record was lost
}

std::string ActivityDevices::uuidText(const ActivityDevice& details) {
  std::string uuid = details.mig ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < sizeof details.uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
    uuid += hexOf({&details.uuid[i], 1});
  }
  return uuid;
}

void ActivitySwitches::take(const AreaControl& area) {
  const std::uint64_t head = area.switchHead;
  const std::uint64_t oldest = head - std::min<std::uint64_t>(head, STALLPROF_ACTIVITY_SWITCHES);
  if (read_ < oldest && !switches_.empty()) {
    stallprof_switch unknown = switches_.back();  // what came between was overwritten
    unknown.on = 0;
    switches_.push_back(unknown);
  }
  for (std::uint64_t i = std::max(read_, oldest); i < head; ++i) {
    stallprof_switch entry = area.onoff[i % STALLPROF_ACTIVITY_SWITCHES];
    if (entry.monotonic >= std::uint64_t{INT64_MAX}) continue;
    entry.reserved = 0;
    if (!switches_.empty()) entry.monotonic = std::max(entry.monotonic, switches_.back().monotonic);
    switches_.push_back(entry);
  }
  read_ = head;
  if (switches_.size() > kSwitchesKept)
    switches_.erase(switches_.begin(),
                    switches_.begin() + static_cast<std::ptrdiff_t>(kSwitchesKept / 2));
}

void ActivitySwitches::lose(std::int64_t begin, std::int64_t end) {
  const std::uint32_t on = onNow();
  if (end <= begin) return;
  while (!switches_.empty() && at(switches_.size() - 1) >= begin) switches_.pop_back();
  switches_.push_back({static_cast<std::uint64_t>(std::max<std::int64_t>(begin, 0)), 0, 0});
  switches_.push_back({static_cast<std::uint64_t>(end), on, kResumed});
}

std::int64_t ActivitySwitches::kernelsSince() const {
  for (std::size_t i = switches_.size(); i-- > 0;) {
    const bool before = (i > 0 && (switches_[i - 1].on & STALLPROF_ON_KERNELS) != 0) ||
                        switches_[i].reserved == kResumed;
    if ((switches_[i].on & STALLPROF_ON_KERNELS) != 0 && !before) return at(i);
  }
  return 0;
}

std::size_t ActivitySwitches::entryAt(std::int64_t instant) {
  std::size_t i = 0;
  while (i < switches_.size() && at(i) < instant) ++i;
  if (i == switches_.size() || at(i) != instant)
    switches_.insert(switches_.begin() + static_cast<std::ptrdiff_t>(i),
                     {static_cast<std::uint64_t>(instant), onAt(instant), kResumed});
  return i;
}

void ActivitySwitches::withoutKernels(std::int64_t begin, std::int64_t end) {
  if (begin < 0 || end <= begin) return;
  const std::size_t first = entryAt(begin), last = entryAt(end);
  for (std::size_t i = first; i < last; ++i) switches_[i].on &= ~STALLPROF_ON_KERNELS;
  switches_[last].reserved = kResumed;
}

std::uint32_t ActivitySwitches::onAt(std::int64_t instant) const {
  for (std::size_t i = switches_.size(); i-- > 0;)
    if (at(i) <= instant) return switches_[i].on;
  return 0;
}

void ActivitySwitches::forget(std::int64_t instant) {
  while (switches_.size() > 1 && at(1) <= instant) switches_.erase(switches_.begin());
}

bool ActivityDetails::within(const Interval& when) const {
  return std::any_of(intervals_.begin(), intervals_.end(), [&](const Interval& interval) {
    return when.begin < interval.end && when.end >= interval.begin;
  });
}

void ActivityDetails::pay(std::int64_t bytes) {
  budget_.payEach(bytes);
  paid_ += bytes;
}

void ActivityDetails::setRate(std::uint64_t records, std::int64_t ns) {
  bytesPerSecond_ = static_cast<double>(records) * ActivityBudget::kWorkBytes /
                    (static_cast<double>(ns) / kSecond);
}

// An interval is cut, but for its first second, where more comes than was thought.
void ActivityDetails::plan(std::int64_t now, std::int64_t firstWork, std::int64_t settled,
                           bool traced) {
  if (!intervals_.empty() && static_cast<double>(paid_) > 2 * ActivityBudget::kEachOnce) {
    Interval& last = intervals_.back();
    last.end = std::min(last.end, std::max(now, last.begin + kSecond));
  }
  while (!intervals_.empty() && intervals_.front().end < settled - 10 * kSecond)
    intervals_.erase(intervals_.begin());
  if (firstWork == 0 || now < firstWork + kAfterFirstWork || now < next_ || !traced) return;
  const Nanos length = budget_.eachFor(bytesPerSecond_);
  if (length == Nanos{}) return;
  intervals_.push_back({now, now + length.count()});
  paid_ = 0;
  next_ = now + kEvery;
}

}  // namespace stallprof
