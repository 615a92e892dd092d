// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "event/event_out.h"
#include "recording/activity_area.h"
#include "recording/activity_budget.h"
#include "recording/activity_clock.h"
#include "recording/activity_records.h"
#include "recording/activity_spans.h"
#include "recording/activity_totals.h"
#include "recording/ring.h"

namespace stallprof {

// What one process's area of the activity memory says, as events. Fed in this order at each look:
// control, names, buffers, settle; end when its owner is gone. Nothing here is trusted.
class ActivityProcess {
 public:
  struct Sink {
    const EventMemory::Identities& identities;
    EventOut& out;
    Nanos now;
  };

  // `since`: nothing can have happened before. `budget` outlives it.
  ActivityProcess(Nanos since, ActivityBudget& budget) : since_(since), budget_(budget) {}
  ActivityProcess(const ActivityProcess&) = delete;
  ActivityProcess& operator=(const ActivityProcess&) = delete;
  ~ActivityProcess();

  void control(const AreaControl& area, const Sink& sink);
  // What the name log has grown by since the last time.
  void names(std::span<const std::uint8_t> bytes, const Sink& sink);
  // `bytes`: a private copy.
  void buffer(std::span<const std::uint8_t> bytes, bool torn, const Sink& sink);
  // Tells of all that is older than the last whole flush.
  void settle(const Sink& sink);
  // Tells of all that is left.
  void end(const Sink& sink);

  // Bytes of the name log that were taken.
  [[nodiscard]] std::uint64_t namesRead() const { return namesRead_; }
  // Buffers may be read: their times can be told.
  [[nodiscard]] bool ready() const { return clock_.known(); }
  // What the agent says of itself; none: nothing yet.
  struct Report {
    Coverage state = Coverage::kFull;
    std::string why;
    friend bool operator==(const Report&, const Report&) = default;
  };
  [[nodiscard]] const std::optional<Report>& report() const { return report_; }
  void damaged(std::uint64_t bytes) { damagedBytes_ += bytes; }

 private:
  struct Name {
    StringId text;
    std::uint64_t pointer = 0;
    bool collective = false;
  };
  struct Device {
    StringId name;
    std::int32_t multiprocessors = -1;
    bool used = false;  // CUPTI tells of every device there is
    BusyUnion work;
  };
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
  using Stretch = ActivityClock::Stretch;

  void take(const ActivityRecord& record, const Sink& sink);
  void takeDevice(const ActivityRecord& record, const Sink& sink);
  void takeWork(const ActivityRecord& record, const Stretch& when, const Sink& sink);
  static void addUp(const DeviceWork& work, const Device& device, WorkTotal& total);
  void takeCall(const ActivityRecord& record, const Stretch& when, const Sink& sink);
  [[nodiscard]] std::optional<Stretch> timeOf(const ActivityRecord& record, Nanos now);
  [[nodiscard]] std::uint32_t nameNumber(std::uint64_t word) const;
  [[nodiscard]] Device* deviceOf(std::uint32_t ordinal);
  [[nodiscard]] std::uint32_t ordinalOf(const ActivityRecord& record);
  [[nodiscard]] StringId deviceName(std::uint32_t ordinal, const Sink& sink);
  [[nodiscard]] ProcessId process(const Sink& sink);
  [[nodiscard]] ThreadId thread(std::uint32_t tid, const Sink& sink);
  [[nodiscard]] StringId callName(std::uint64_t key, const Sink& sink) const;
  [[nodiscard]] std::uint32_t onAt(std::int64_t instant) const;
  [[nodiscard]] bool withinEach(const Stretch& when) const;
  void payEach(std::int64_t bytes);
  void takeSwitches(const AreaControl& area);
  void takeState(const AreaControl& area);
  void takeLosses(const AreaControl& area, const Sink& sink);
  void planEach(const Sink& sink);
  void tellTraces(std::int64_t until, const Sink& sink);
  void tellSpans(std::int64_t until, const Sink& sink);
  void tellSpansOf(std::uint32_t ordinal, Device& device, std::int64_t until, Nanos stretch,
                   const Sink& sink);
  void tellUses(std::int64_t until, const Sink& sink);
  void tellCalls(std::int64_t until, const Sink& sink);
  void tellLosses(const Sink& sink);
  void lose(LossKind kind, std::uint64_t& count, const char* detail, const Sink& sink);

  Nanos since_;
  ActivityBudget& budget_;
  AreaControl area_;
  ProcessId process_;
  ActivityClock clock_;
  std::uint64_t clocksRead_ = 0, switchesRead_ = 0, namesRead_ = 0;
  std::vector<Name> names_;  // number - 1
  std::unordered_map<std::uint64_t, std::uint32_t> byPointer_;
  bool namesBroken_ = false;
  std::vector<stallprof_switch> switches_;
  // CUDA allows 64 devices at most in a process; and a job may not make us hold more.
  std::array<std::unique_ptr<Device>, 64> devices_;  // by ordinal
  std::map<std::uint32_t, std::uint32_t> deviceOfContext_;
  std::uint64_t lastContext_ = ~std::uint64_t{0};  // and its device, as it is in the map
  std::unordered_map<std::uint32_t, ThreadId> threads_;
  SecondTotals<WorkTotal> works_;
  SecondTotals<CallTotal> calls_;
  std::vector<Stretch> each_;
  std::int64_t told_ = 0;  // traces up to here
  std::int64_t firstWork_ = 0, nextEach_ = 0;
  std::uint64_t recordsNow_ = 0;  // since the last settlement
  std::int64_t eachPaid_ = 0;     // bytes, in the last stretch of each_
  double bytesPerSecond_ = 0;
  std::optional<Report> report_;
  std::uint64_t damagedBytes_ = 0, invalid_ = 0, unfinished_ = 0, untold_ = 0;
  std::uint64_t clockBreaks_ = 0;
  bool torn_ = false;
};

}  // namespace stallprof
