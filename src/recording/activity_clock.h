// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "recording/activity_memory.h"

namespace stallprof {

// CUPTI's clock as CLOCK_MONOTONIC: linear from pair to pair, extrapolated at both ends. CUPTI
// gives nanoseconds (of CLOCK_REALTIME, by default); a stretch between two pairs in which it went
// at another rate, or was set, has no times.
class ActivityClock {
 public:
  // In order of `monotonic`; a pair that is not after the one before is left out.
  void add(const stallprof_clock_pair& pair);

  [[nodiscard]] bool known() const { return !pieces_.empty(); }
  // Stretches without times so far.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }
  // None within a stretch that has no times.
  [[nodiscard]] std::optional<Nanos> monotonic(std::uint64_t device) const;
  // Both ends, or none.
  struct Stretch {
    std::int64_t begin = 0, end = 0;
  };
  [[nodiscard]] std::optional<Stretch> stretch(std::uint64_t begin, std::uint64_t end) const;

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
  [[nodiscard]] const Piece* pieceOf(std::int64_t device) const;

  std::vector<Piece> pieces_;
  stallprof_clock_pair last_{};
  std::uint64_t breaks_ = 0;
};

}  // namespace stallprof
