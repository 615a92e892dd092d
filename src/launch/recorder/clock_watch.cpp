// SPDX-License-Identifier: MIT
#include "launch/recorder/clock_watch.h"

#include <cstdio>

namespace stallprof {

void ClockWatch::sample(const Clocks& clocks, Nanos planned, EventOut& out) {
  const Nanos asleep = clocks.boottime - clocks.monotonic;
  const bool slept = begun_ && asleep - asleep_ > kSuspended;
  if (slept) {
    // The monotonic clock stood still meanwhile: on it the gap has no length.
    char why[64];
    std::snprintf(why, sizeof why, "suspended: the host slept for %.1f s",
                  seconds(asleep - asleep_));
    out.emit(clocks.monotonic, Gap{Nanos(0), out.intern(why)});
  }
  if (begun_ && clocks.monotonic - planned > kStopped)
    out.emit(lastSample_, Gap{clocks.monotonic - lastSample_, out.intern("recorder stopped")});
  if (!begun_ || slept || clocks.monotonic >= nextPair_) {
    out.emit(clocks.monotonic, ClockPair{clocks.realtime, clocks.boottime});
    nextPair_ = clocks.monotonic + kPairEvery;
  }
  begun_ = true;
  asleep_ = asleep;
  lastSample_ = clocks.monotonic;
}

}  // namespace stallprof
