// SPDX-License-Identifier: MIT
#include "recording/activity/activity_source.h"

namespace stallprof {

void ActivitySource::report(const std::vector<const ActivityProcess*>& processes, Nanos now,
                            EventOut& out) {
  std::optional<ActivityProcess::Report> all;
  for (const ActivityProcess* process : processes) {
    const auto& one = process->report();
    if (!one) continue;
    if (!all) {
      all = one;
      continue;
    }
    if (one->state != all->state) all->state = Coverage::kPartial;
    if (all->why.empty()) all->why = one->why;
  }
  if (!all || all == reported_) return;
  reported_ = all;
  out.emit(now, SourceState{out.intern("gpu"), all->state, out.intern(all->why)});
}

}  // namespace stallprof
