// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/blame/blame.h"
#include "analysis/device/device_time.h"
#include "analysis/facts/device_facts.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/pieces.h"

// What the devices say of the trainer's time, and the trainer of theirs.
//
// A device's work changes the split of the trainer's time: a wait that it hides is compute, a wait
// for it while it idles is sync, blocking in a copy to it is load. Every split keeps its sum. What
// the trainer did meanwhile says why a device was idle.
namespace stallprof {

// What of an interval was seen with the devices traced, and the untraced rest, which is estimated
// from it.
struct DeviceTally {
  struct Seen {
    Nanos wait{}, hidden{};                // hidden: of all `wait`
    Nanos step{}, sync{}, copy{}, comm{};  // the last three: of all `step`
  } seen;
  struct Untraced {
    Nanos wait{}, step{};
    Blame blame;  // of `wait`
  } untraced;
};

class DeviceSplit {
 public:
  // Where too little of `window` was traced, all time counts as it does without a device.
  DeviceSplit(const DeviceTimeline& devices, const Interval& window)
      : devices_(devices), known_(devices.enoughIn(window)) {}
  [[nodiscard]] bool known() const { return known_; }

  // The trainer waits for `fetch` during `wait`.
  void wait(const Producers& producers, const EpochSpan& epoch, const Timed<Fetch>& fetch,
            const Interval& wait, Split& split, Blame& blame, DeviceTally& tally) const;
  // It is inside a step, and nothing says more.
  void step(const Interval& interval, Split& split, DeviceTally& tally) const;

 private:
  void call(bool copy, const Interval& interval, Split& split, DeviceTally& tally) const;
  [[nodiscard]] Nanos collective(const Interval& interval) const;

  const DeviceTimeline& devices_;
  bool known_;
};

// What was not traced, divided as what was: `seen` is of the window.
void estimateUntraced(const DeviceTally::Seen& seen, const DeviceTally::Untraced& untraced,
                      Split& split, Blame& blame);

// What the trainer's time is known as, for the naming of idle time.
struct TrainerTime {
  const TrainerTimeline& timeline;
  const Timeline& pieces;
  const Producers& producers;
};

// The traced time of `window` of each device that the trainer uses: busy, or idle and why. An
// idle instant is named by what the trainer's thread did at it; inside a step, by the gap: after
// the trainer had waited for the device it is sync, else the launching; longer, its own work
// (kLaunchGap).
[[nodiscard]] std::vector<DeviceBusy> blameDevices(const Trace& trace, const TrainerTime& trainer,
                                                   const DeviceTimeline& devices,
                                                   const Interval& window);

}  // namespace stallprof
