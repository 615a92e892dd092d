// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/interval.h"
#include "base/time.h"
#include "trace/trace.h"

namespace stallprof {

// What a thread's slices show of an interval. Sums of many slices are exact in run and queued;
// `extract`, `transform` and `unknown` weigh what the samples found it blocked in: a sample is an
// instant, so it counts where it fell, with the time between two samples as its weight.
struct Observed {
  Nanos run{}, queued{};
  Nanos extract{}, transform{}, unknown{};
  std::uint32_t blockedSamples = 0;
  Observed& operator+=(const Observed& o);
  // Adds the weight of `samples` of the slice to what they found the thread blocked in.
  void weigh(const ThreadSlice& slice, std::uint32_t samples);
};

// How many of a slice's samples lie in (begin, end]. They are evenly spaced, the last at the
// slice's end, so that adjacent intervals count each sample once.
[[nodiscard]] std::uint32_t samplesIn(const Timed<ThreadSlice>& slice, const Interval& interval);

// `counts(slice)`: whether a slice's samples count for the interval at all.
template <class Counts>
[[nodiscard]] Observed observe(const ThreadLife& thread, const Interval& interval, Counts counts) {
  Observed seen;
  divide(thread.slices, interval, [&](const Interval& piece, const Timed<ThreadSlice>* slice) {
    if (!slice) return;
    const double share = fractionOf(piece.length(), slice->data.duration);
    seen.run += scaled(slice->data.run, share);
    seen.queued += scaled(slice->data.queued, share);
    if (counts(*slice)) seen.weigh(slice->data, samplesIn(*slice, interval));
  });
  return seen;
}
[[nodiscard]] Observed observe(const ThreadLife& thread, const Interval& interval);

// A sample of `thread` in `wait` waits for the network. Of event loops only in the main thread,
// where a loader's worker makes its batches: others may be idle in theirs.
[[nodiscard]] inline bool waitsForNetwork(const Trace& trace, const ThreadLife& thread, Wait wait) {
  const bool main = thread.tid != 0 && thread.tid == trace.process(thread.process).pid;
  return wait == Wait::kSocket || (wait == Wait::kEventLoop && main);
}

}  // namespace stallprof
