// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blame.h"
#include "analysis/device_time.h"
#include "analysis/facts.h"

// What a device's work makes of the trainer's time: a wait that it hides is compute, a wait for it
// while it idles is sync, standing in a copy to it is load. Every split sums as before.
namespace stallprof {

// What of a stretch was seen with the devices traced, and what was not and so is told from that.
struct DeviceTally {
  struct Seen {
    Nanos wait{}, hidden{};                // hidden: of all `wait`
    Nanos step{}, sync{}, copy{}, comm{};  // the last three: of all `step`
  } seen;
  struct Dark {
    Nanos wait{}, step{};
    Blame blame;  // of `wait`
  } dark;
};

class DeviceSplit {
 public:
  // Where too little of [begin, end) was traced, all time counts as it does without a device.
  DeviceSplit(const DeviceTimeline& devices, Nanos begin, Nanos end)
      : devices_(devices), known_(devices.enoughIn(begin, end)) {}
  [[nodiscard]] bool known() const { return known_; }

  // The trainer waits for `fetch` in [from, to).
  void wait(const Producers& producers, const PassSpan& pass, const Timed<Fetch>& fetch, Nanos from,
            Nanos to, Split& split, Blame& blame, DeviceTally& tally) const;
  // It is inside a step, and nothing says more.
  void step(Nanos from, Nanos to, Split& split, DeviceTally& tally) const;

 private:
  void call(const StandingCall& call, Nanos from, Nanos to, Split& split, DeviceTally& tally) const;
  [[nodiscard]] Nanos collective(Nanos from, Nanos to) const;

  const DeviceTimeline& devices_;
  bool known_;
};

// What was not traced, divided as what was: `seen` is of the window.
void estimateDark(const DeviceTally::Seen& seen, const DeviceTally::Dark& dark, Split& split,
                  Blame& blame);

}  // namespace stallprof
