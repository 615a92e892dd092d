// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/device/device_time.h"
#include "analysis/facts/facts.h"
#include "present/timeline/chrome_trace_timeline.h"

namespace stallprof {

// Which part of a recording is drawn slice by slice. Elsewhere slices of a lane are merged, within
// bins of `bin`, but for those of `longest` and more.
struct TimelineDetail {
  bool whole = true;
  bool only = false;  // nothing at all outside of the intervals
  Intervals intervals;
  Nanos bin{}, longest{};
  std::vector<std::string> words;  // an interval each
  [[nodiscard]] bool within(Nanos begin, Nanos end) const {
    return whole || lengthIn(intervals, {begin, std::max(end, begin + Nanos(1))}) > Nanos(0);
  }
};

// `slices`, `lanes`: what the whole recording has. Representative are the median step, the worst,
// and the first after an epoch began, each with as many neighbours as there is room for.
[[nodiscard]] TimelineDetail chooseDetail(const Trace& trace, const TrainerFacts& trainer,
                                          const TimelineOptions& options, std::uint64_t slices,
                                          std::size_t lanes);

}  // namespace stallprof
