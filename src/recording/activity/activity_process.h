// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "event/event_out.h"
#include "recording/activity/activity_area.h"
#include "recording/activity/activity_budget.h"
#include "recording/activity/activity_parts.h"
#include "recording/activity/activity_totals.h"
#include "recording/cupti/activity_clock.h"
#include "recording/cupti/activity_records.h"
#include "recording/memory/ring.h"

namespace stallprof {

// What one process's area of the activity memory says, as events. Fed in this order at each
// reading: control, names, buffers, settle; end when its owner is gone. Nothing here is trusted.
class ActivityProcess {
 public:
  struct Sink {
    const EventMemory::Identities& identities;
    EventOut& out;
    Nanos now;
  };

  // `since`: nothing can have happened before. `budget` outlives it.
  ActivityProcess(Nanos since, ActivityBudget& budget)
      : since_(since), budget_(budget), devices_(budget), details_(budget) {}

  void control(const AreaControl& area, const Sink& sink);
  // What the name log has grown by since the last time.
  void names(std::span<const std::uint8_t> bytes, const Sink& sink);
  // `bytes`: a private copy.
  void buffer(std::span<const std::uint8_t> bytes, bool torn, const Sink& sink);
  // Reports all that is older than the last whole flush.
  void settle(const Sink& sink);
  // Reports all that is left.
  void end(const Sink& sink);

  // Bytes of the name log that were taken.
  [[nodiscard]] std::uint64_t namesRead() const { return names_.bytesRead(); }
  // Buffers may be read: their times can be known.
  [[nodiscard]] bool ready() const { return clock_.known() && !clock_.unsettled(); }
  // What the agent says of itself; none: nothing yet.
  struct Report {
    Coverage state = Coverage::kFull;
    std::string why;
    friend bool operator==(const Report&, const Report&) = default;
  };
  [[nodiscard]] const std::optional<Report>& report() const { return report_; }
  void damaged(std::uint64_t bytes) { damagedBytes_ += bytes; }

 private:
  struct WorkTotal {
    std::uint64_t count = 0;
    std::int64_t time = 0, bytes = 0;
    double filled = 0;
    bool allFilled = true;
  };
  struct CallTotal {
    std::uint64_t count = 0;
    std::int64_t time = 0;
  };
  using Interval = ActivityClock::Interval;

  void take(const ActivityRecord& record, const Sink& sink);
  void takeDevice(const ActivityRecord& record, const Sink& sink);
  void takeWork(const ActivityRecord& record, const Interval& when, const Sink& sink);
  static void addUp(const DeviceWork& work, std::int32_t multiprocessors, WorkTotal& total);
  void takeCall(const ActivityRecord& record, const Interval& when, const Sink& sink);
  [[nodiscard]] bool recordsKernels() const {
    return (switches_.onNow() & STALLPROF_ON_KERNELS) != 0;
  }
  [[nodiscard]] std::optional<Interval> timeOf(const ActivityRecord& record, Nanos now);
  [[nodiscard]] ProcessId process(const Sink& sink);
  [[nodiscard]] ThreadId thread(std::uint32_t tid, const Sink& sink);
  [[nodiscard]] StringId callName(std::uint64_t key, const Sink& sink) const;
  void takeState(const AreaControl& area);
  [[nodiscard]] bool takeLosses(const AreaControl& area, const Sink& sink);
  void settleOnset(std::int64_t until);
  void emitTraces(std::int64_t until, const Sink& sink);
  void emitSpans(std::int64_t until, const Sink& sink);
  void emitSpansOf(std::uint32_t ordinal, ActivityDeviceState& device, std::int64_t until,
                   Nanos interval, const Sink& sink);
  void emitUses(std::int64_t until, const Sink& sink);
  void emitCalls(std::int64_t until, const Sink& sink);
  void emitLosses(const Sink& sink);
  void lose(LossKind kind, std::uint64_t& count, const char* detail, const Sink& sink);

  Nanos since_;
  ActivityBudget& budget_;
  AreaControl area_;
  ProcessId process_;
  ActivityClock clock_;
  std::uint64_t clocksRead_ = 0;
  ActivityNames names_;
  ActivitySwitches switches_;
  ActivityDevices devices_;
  ActivityDetails details_;
  std::unordered_map<std::uint32_t, ThreadId> threads_;
  SecondTotals<WorkTotal> works_;
  SecondTotals<CallTotal> calls_;
  std::int64_t emittedTo_ = 0;  // traces up to here
  std::int64_t firstWork_ = 0;
  std::uint64_t recordsNow_ = 0;  // since the last settlement
  std::optional<Report> report_;
  std::uint64_t damagedBytes_ = 0, invalid_ = 0, unfinished_ = 0, unreported_ = 0;
  // Since kernels were last switched on: the first launch and the first work.
  struct Onset {
    std::int64_t switched = 0;
    bool open = false;  // from when on kernels count as traced is not known yet
    std::int64_t launch = 0, work = 0;
    void add(std::int64_t Onset::*first, std::int64_t at) {
      if (at >= switched && (this->*first == 0 || at < this->*first)) this->*first = at;
    }
  };
  Onset onset_;
  bool torn_ = false, untimed_ = false;  // untimed: work without times was read
};

}  // namespace stallprof
