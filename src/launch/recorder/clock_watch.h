// SPDX-License-Identifier: MIT
#pragma once

#include "event/event_out.h"

namespace stallprof {

// The recorder's view of time itself: ties the clocks together every 10 s, and notices what no
// sampler can: that the host slept, that somebody set its clock, or that the recorder was stopped.
// Pure but for its output.
class ClockWatch {
 public:
  struct Clocks {
    Nanos monotonic{}, realtime{}, boottime{};
  };
  static constexpr Nanos kPairEvery = std::chrono::seconds(10);
  // Later than this past the planned wake-up is no scheduling delay: a recorder on a full 2-CPU
  // host was seen up to 0.2 s late.
  static constexpr Nanos kStopped = std::chrono::seconds(2);
  // Reads of the two clocks lie this far apart without any sleep.
  static constexpr Nanos kSuspended = std::chrono::milliseconds(100);

  // NTP slews a clock by 0.5 ms a second at the most; a leap second is smeared, or is one.
  static constexpr Nanos kSet = std::chrono::milliseconds(500);

  // Call at every wake-up; `planned` is when the loop meant to wake up at the latest.
  void sample(const Clocks& clocks, Nanos planned, EventOut& out);

 private:
  bool begun_ = false;
  Nanos nextPair_{}, lastSample_{}, asleep_{}, epoch_{};
};

}  // namespace stallprof
