// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "recording/memory/activity_memory.h"

namespace stallprof {

// CUPTI's clock as CLOCK_MONOTONIC, by piecewise linear interpolation: the agent reads both clocks
// about once a second (a pair, with the bracket of its reading as uncertainty), and between two
// pairs time is linear; before the first and behind the last it is extrapolated. CUPTI gives
// nanoseconds (of CLOCK_REALTIME, by default), or what another tool of the process made it give
// (torch's profiler: the CPU's time stamp counter). An interval whose rate is off by more than 0.1
// % and its pairs' own errors, from 1 and from that of the interval before, is one in which a clock
// was set: it has no times. At most 512 pieces are kept, some eight minutes, and a lookup searches
// from the newest.
class ActivityClock {
 public:
  // In order of `monotonic`; a pair that is not after the one before is left out.
  void add(const stallprof_clock_pair& pair);

  [[nodiscard]] bool known() const { return !pieces_.empty(); }
  // The last interval has a rate of its own: the next pair says whether a clock was set in it, or
  // counts in another unit since.
  [[nodiscard]] bool unsettled() const { return unsettled_; }
  // Intervals without times so far.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }
  // None within an interval that has no times.
  [[nodiscard]] std::optional<Nanos> monotonic(std::uint64_t device) const;
  // Both ends, or none.
  struct Interval {
    std::int64_t begin = 0, end = 0;
  };
  [[nodiscard]] std::optional<Interval> interval(std::uint64_t begin, std::uint64_t end) const;

 private:
  // From one pair to the next; the last goes on without end.
  struct Piece {
    std::int64_t device = 0, monotonic = 0;
    double slope = 0;  // monotonic per device ns, less 1
    bool broken = false;
    [[nodiscard]] std::int64_t monotonicAt(std::int64_t at) const {
      const std::int64_t since = at - device;
      return monotonic + since + static_cast<std::int64_t>(static_cast<double>(since) * slope);
    }
  };
  void confirm(Piece& piece);
  [[nodiscard]] const Piece* pieceOf(std::int64_t device) const;

  std::vector<Piece> pieces_;
  bool unsettled_ = false;
  double rate_ = 1;  // device ns per ns of the last interval that was no jump
  stallprof_clock_pair last_{};
  std::uint64_t breaks_ = 0;
};

}  // namespace stallprof
