// SPDX-License-Identifier: MIT
#include "analysis/blame/unwritten.h"

#include <algorithm>

namespace stallprof {
namespace {

bool isLoss(LossKind kind) { return kind == LossKind::kDiskFull || kind == LossKind::kWriteError; }

}  // namespace

Intervals unwritten(const Trace& trace, const TrainerTimeline& timeline) {
  Intervals found;
  for (const auto& row : trace.gaps) {
    Interval gap = intervalOf(row);
    const bool lost = std::any_of(trace.losses.begin(), trace.losses.end(), [&](const auto& loss) {
      return isLoss(loss.data.kind) && loss.at == gap.end;
    });
    if (!lost) continue;
    gap.begin = timeline.lastEnd(gap);
    if (!gap.empty()) found.push_back(gap);
  }
  return joined(std::move(found));
}

}  // namespace stallprof
