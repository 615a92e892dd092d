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
  // Against the clock that counts sleep too. All that we measure is of another clock.
  const Nanos epoch = clocks.realtime - clocks.boottime, moved = epoch - epoch_;
  const bool set = begun_ && (moved > kSet || moved < -kSet);
  if (set) {
    char why[64];
    std::snprintf(why, sizeof why, "clock set: the wall clock moved by %+.1f s", seconds(moved));
    out.emit(clocks.monotonic, Gap{Nanos(0), out.intern(why)});
  }
  if (!begun_ || set) epoch_ = epoch;
  if (begun_ && clocks.monotonic - planned > kStopped)
    out.emit(lastSample_, Gap{clocks.monotonic - lastSample_, out.intern(kRecorderStopped)});
  if (!begun_ || slept || set || clocks.monotonic >= nextPair_) {
    out.emit(clocks.monotonic, ClockPair{clocks.realtime, clocks.boottime});
    nextPair_ = clocks.monotonic + kPairEvery;
  }
  begun_ = true;
  asleep_ = asleep;
  lastSample_ = clocks.monotonic;
}

}  // namespace stallprof
