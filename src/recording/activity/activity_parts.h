// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "event/event_out.h"
#include "recording/activity/activity_area.h"
#include "recording/activity/activity_budget.h"
#include "recording/activity/activity_spans.h"
#include "recording/cupti/activity_clock.h"
#include "recording/cupti/activity_records.h"

// What the recorder keeps of the agent of one process: names, devices, switches, and when details
// are recorded.
namespace stallprof {

// The names of kernels and devices that the agent of one process has logged, by number and by the
// pointer that CUPTI had given. The log is not trusted: what cannot be an entry ends it.
class ActivityNames {
 public:
  struct Name {
    StringId text;
    bool collective = false;
  };

  // Takes `bytes`, by which the log has grown. Returns how many of them were no entries: from the
  // first of those on nothing more is taken.
  [[nodiscard]] std::uint64_t take(std::span<const std::uint8_t> bytes, EventOut& out);
  // Of the log, taken so far.
  [[nodiscard]] std::uint64_t bytesRead() const { return bytesRead_; }

  // `word` of a record: a number, or the pointer that was never replaced by one. 0: no name.
  [[nodiscard]] std::uint32_t numberOf(std::uint64_t word) const;
  // `number` from numberOf; of 0 a name without text.
  [[nodiscard]] Name at(std::uint32_t number) const {
    return number == 0 ? Name{} : names_[number - 1];
  }

 private:
  std::vector<Name> names_;  // number - 1
  std::unordered_map<std::uint64_t, std::uint32_t> byPointer_;
  std::uint64_t bytesRead_ = 0;
  bool broken_ = false;
};

// A device as one process uses it.
struct ActivityDeviceState {
  StringId name;  // its UUID; none: its record was lost
  std::int32_t multiprocessors = -1;
  bool used = false;  // CUPTI reports every device there is
  BusyUnion work;
};

// The devices of one process, by ordinal.
class ActivityDevices {
 public:
  // CUDA allows 64 devices at most in a process; and a job may not make us hold more.
  static constexpr std::uint32_t kMaxDevices = 64;

  // `budget`, which outlives it, counts the devices that are used.
  explicit ActivityDevices(ActivityBudget& budget) : budget_(budget) {}
  ActivityDevices(const ActivityDevices&) = delete;
  ActivityDevices& operator=(const ActivityDevices&) = delete;
  ~ActivityDevices();

  // Made at the first call; null: no such device can be.
  [[nodiscard]] ActivityDeviceState* at(std::uint32_t ordinal);
  // The device a record is of. A graph that spans devices has none of its own: then the one its
  // context is of.
  [[nodiscard]] std::uint32_t ordinalOf(const ActivityRecord& record);
  void setUsed(ActivityDeviceState& device);
  [[nodiscard]] StringId nameOf(std::uint32_t ordinal, EventOut& out) const;

  // Calls apply(ordinal, device) for each that is known.
  template <class Apply>
  void forEach(Apply&& apply) {
    for (std::uint32_t i = 0; i < devices_.size(); ++i)
      if (devices_[i]) apply(i, *devices_[i]);
  }

  // "GPU-..." or "MIG-...", as nvidia-smi writes it.
  [[nodiscard]] static std::string uuidText(const ActivityDevice& details);

 private:
  ActivityBudget& budget_;
  std::array<std::unique_ptr<ActivityDeviceState>, kMaxDevices> devices_;
  std::map<std::uint32_t, std::uint32_t> deviceOfContext_;
  std::uint64_t lastContext_ = ~std::uint64_t{0};  // and its device, as it is in the map
};

// What the agent of one process traced at which time (STALLPROF_ON_...), as its switches say. Times
// in ns of CLOCK_MONOTONIC. At most 4,096 switches are kept.
class ActivitySwitches {
 public:
  // What was switched since the last call. Where switches were overwritten before they were read,
  // nothing counts as traced.
  void take(const AreaControl& area);
  // From `begin` to `end`, which is now, records were lost: nothing counts as traced.
  void lose(std::int64_t begin, std::int64_t end);
  // When kernels were last switched on; 0: never.
  [[nodiscard]] std::int64_t kernelsSince() const;
  // Between `begin` and `end` work may have run that has no records: kernels do not count as
  // traced.
  void withoutKernels(std::int64_t begin, std::int64_t end);

  [[nodiscard]] std::uint32_t onAt(std::int64_t instant) const;
  // By the latest switch.
  [[nodiscard]] std::uint32_t onNow() const { return switches_.empty() ? 0 : switches_.back().on; }

  // Calls emit(begin, end, on) for the intervals between switches in [begin, end), in order.
  template <class Emit>
  void forEach(std::int64_t begin, std::int64_t end, Emit&& emit) const {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const std::int64_t from = std::max(begin, at(i));
      const std::int64_t to = i + 1 < switches_.size() ? std::min(end, at(i + 1)) : end;
      if (to > from) emit(from, to, switches_[i].on);
    }
  }
  // Of what is before `instant` only the state at it is still needed.
  void forget(std::int64_t instant);

 private:
  [[nodiscard]] std::int64_t at(std::size_t i) const {
    return static_cast<std::int64_t>(switches_[i].monotonic);
  }
  // The entry at that instant, made where there is none.
  std::size_t entryAt(std::int64_t instant);

  std::vector<stallprof_switch> switches_;  // ordered
  std::uint64_t read_ = 0;
};

// When every piece of work and every call of one process has an event of its own: for one to ten
// seconds of each minute, from 3 s after the first work on, as the budget of the recording allows.
// An interval is decided before its time comes, since all that ends within it is still to be read.
class ActivityDetails {
 public:
  using Interval = ActivityClock::Interval;

  // `budget` outlives it.
  explicit ActivityDetails(ActivityBudget& budget) : budget_(budget) {}

  [[nodiscard]] bool within(const Interval& when) const;
  // An event within was written: `bytes` of the recording.
  void pay(std::int64_t bytes);

  // `firstWork`: when the first work began, 0: none yet. `settled`: up to where everything is
  // reported. `traced`: kernels are being recorded.
  void plan(std::int64_t now, std::int64_t firstWork, std::int64_t settled, bool traced);
  // `records` were read in the `ns` before: what an interval of details would cost.
  void setRate(std::uint64_t records, std::int64_t ns);

  // Ordered, disjoint; those that ended long before `settled` are gone.
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  // After libraries have loaded and chosen their kernels.
  static constexpr std::int64_t kAfterFirstWork = 3 * kSecond;
  static constexpr std::int64_t kEvery = 60 * kSecond;

  ActivityBudget& budget_;
  std::vector<Interval> intervals_;
  std::int64_t next_ = 0;
  std::int64_t paid_ = 0;  // bytes, in the last interval
  double bytesPerSecond_ = 0;
};

}  // namespace stallprof
