// SPDX-License-Identifier: MIT
#include "analysis/blame/unwritten.h"

#include <algorithm>

namespace stallprof {
namespace {

bool isLoss(LossKind kind) { return kind == LossKind::kDiskFull || kind == LossKind::kWriteError; }

// The end of the last of `rows` that ended in the gap, or its begin.
template <class P>
Nanos lastIn(const Interval& gap, const std::vector<const Timed<P>*>& rows) {
  Nanos last = gap.begin;
  for (const Timed<P>* row : rows)
    if (gap.contains(row->end())) last = std::max(last, row->end());
  return last;
}

}  // namespace

Intervals unwritten(const Trace& trace, const TrainerTimeline& timeline) {
  Intervals found;
  for (const auto& row : trace.gaps) {
    Interval gap = intervalOf(row);
    const bool lost = std::any_of(trace.losses.begin(), trace.losses.end(), [&](const auto& loss) {
      return isLoss(loss.data.kind) && loss.at == gap.end;
    });
    if (!lost) continue;
    gap.begin = std::max(lastIn(gap, timeline.fetches), lastIn(gap, timeline.updates));
    if (!gap.empty()) found.push_back(gap);
  }
  return joined(std::move(found));
}

}  // namespace stallprof
