// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "recording/activity/activity_area.h"

namespace stallprof {

// What the agent of one process traced at which time (STALLPROF_ON_...), as its switches say. Times
// in ns of CLOCK_MONOTONIC. At most 4,096 switches are kept.
class ActivitySwitches {
 public:
  // What was switched since the last call. Where switches were overwritten before they were read,
  // nothing counts as traced.
  void take(const AreaControl& area);

  [[nodiscard]] std::uint32_t onAt(std::int64_t instant) const;
  // By the latest switch.
  [[nodiscard]] std::uint32_t onNow() const { return switches_.empty() ? 0 : switches_.back().on; }

  // Calls emit(begin, end, on) for the intervals between switches in [begin, end), in order.
  template <class Emit>
  void forEach(std::int64_t begin, std::int64_t end, Emit&& emit) const {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const std::int64_t from = std::max(begin, at(i));
      const std::int64_t to = i + 1 < switches_.size() ? std::min(end, at(i + 1)) : end;
      if (to > from) emit(from, to, switches_[i].on);
    }
  }
  // Of what is before `instant` only the state at it is still needed.
  void forget(std::int64_t instant);

 private:
  [[nodiscard]] std::int64_t at(std::size_t i) const {
    return static_cast<std::int64_t>(switches_[i].monotonic);
  }

  std::vector<stallprof_switch> switches_;  // ordered
  std::uint64_t read_ = 0;
};

}  // namespace stallprof
