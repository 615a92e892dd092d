// SPDX-License-Identifier: MIT
#include "analysis/facts/observed.h"

#include <algorithm>

#include "base/add_members.h"
#include "classify/waits.h"

namespace stallprof {

Observed& Observed::operator+=(const Observed& o) {
  addMembers<&Observed::run, &Observed::queued, &Observed::extract, &Observed::transform,
             &Observed::unknown, &Observed::blockedSamples>(*this, o);
  return *this;
}

void Observed::weigh(const ThreadSlice& slice, std::uint32_t samples) {
  if (slice.wait == Wait::kRunning || slice.samples == 0 || slice.duration <= Nanos::zero()) return;
  const Nanos weight = scaled(slice.duration, static_cast<double>(samples) / slice.samples);
  const Phase phase = producerWait(slice.wait).phase;
  (phase == Phase::kExtract ? extract : phase == Phase::kTransform ? transform : unknown) += weight;
  blockedSamples += samples;
}

std::uint32_t samplesIn(const Timed<ThreadSlice>& slice, const Interval& interval) {
  if (slice.data.duration <= Nanos::zero()) return 0;
  const auto after = [&](Nanos t) {  // samples later than t
    const __int128 left = std::clamp(slice.end() - t, Nanos::zero(), slice.data.duration).count();
    const __int128 whole = slice.data.duration.count();
    return static_cast<std::uint32_t>((left * slice.data.samples + whole - 1) / whole);
  };
  return after(interval.begin) - after(interval.end);
}

Observed observe(const ThreadLife& thread, const Interval& interval) {
  return observe(thread, interval, [](const Timed<ThreadSlice>&) { return true; });
}

}  // namespace stallprof
