// SPDX-License-Identifier: MIT
#include "analysis/steps/stopped.h"

#include <algorithm>

namespace stallprof {
namespace {

// A slice ends with the first sample after the stop, by which the thread ran for a moment.
constexpr int kHardlyRan = 20;  // the part of a slice

bool hardlyRan(const ThreadSlice& slice, Nanos of) {
  return kHardlyRan * (slice.run + slice.queued) <= of;
}

// Gaps in which the recorder was stopped, and the trainer reported nothing.
Intervals silentStops(const Trace& trace, const TrainerTimeline& timeline) {
  Intervals stops;
  for (const auto& row : trace.gaps) {
    if (trace.text(row.data.why) != kRecorderStopped) continue;
    const Interval gap = intervalOf(row);
    if (timeline.lastEnd(gap) == gap.begin) stops.push_back(gap);
  }
  return stops;
}

}  // namespace

Intervals stoppedTimes(const Trace& trace, const TrainerTimeline& timeline) {
  const Table<ThreadSlice>& slices = trace.thread(timeline.who.thread).slices;
  Intervals found;
  for (const auto& row : slices)
    if (row.data.wait == Wait::kStopped && hardlyRan(row.data, row.data.duration))
      found.push_back(intervalOf(row));
  for (const Interval& gap : silentStops(trace, timeline)) {
    auto row = std::partition_point(slices.begin(), slices.end(),
                                    [&](const auto& slice) { return slice.end() <= gap.begin; });
    for (; row != slices.end() && row->at < gap.end; ++row)
      if (const Interval both = intersect(intervalOf(*row), gap);
          2 * both.length() > gap.length() && hardlyRan(row->data, both.length()))
        found.push_back(both);
  }
  return joined(std::move(found));
}

}  // namespace stallprof
