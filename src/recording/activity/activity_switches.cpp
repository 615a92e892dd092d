// SPDX-License-Identifier: MIT
#include "recording/activity/activity_switches.h"

namespace stallprof {
namespace {

constexpr std::size_t kSwitchesKept = 4096;

}  // namespace

void ActivitySwitches::take(const AreaControl& area) {
  const std::uint64_t head = area.switchHead;
  const std::uint64_t oldest = head - std::min<std::uint64_t>(head, STALLPROF_ACTIVITY_SWITCHES);
  if (read_ < oldest && !switches_.empty()) {
    stallprof_switch unknown = switches_.back();  // what came between was overwritten
    unknown.on = 0;
    switches_.push_back(unknown);
  }
  for (std::uint64_t i = std::max(read_, oldest); i < head; ++i) {
    const stallprof_switch& entry = area.onoff[i % STALLPROF_ACTIVITY_SWITCHES];
    const std::uint64_t last = switches_.empty() ? 0 : switches_.back().monotonic;
    if (entry.monotonic >= last && entry.monotonic < std::uint64_t{INT64_MAX})
      switches_.push_back(entry);
  }
  read_ = head;
  if (switches_.size() > kSwitchesKept)
    switches_.erase(switches_.begin(),
                    switches_.begin() + static_cast<std::ptrdiff_t>(kSwitchesKept / 2));
}

std::uint32_t ActivitySwitches::onAt(std::int64_t instant) const {
  for (std::size_t i = switches_.size(); i-- > 0;)
    if (at(i) <= instant) return switches_[i].on;
  return 0;
}

void ActivitySwitches::forget(std::int64_t instant) {
  while (switches_.size() > 1 && at(1) <= instant) switches_.erase(switches_.begin());
}

}  // namespace stallprof
