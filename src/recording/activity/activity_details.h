// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "recording/activity/activity_budget.h"
#include "recording/cupti/activity_clock.h"

namespace stallprof {

// When every piece of work and every call of one process has an event of its own: for one to ten
// seconds of each minute, from 3 s after the first work on, as the budget of the recording allows.
// An interval is decided before its time comes, since all that ends within it is still to be read.
class ActivityDetails {
 public:
  using Interval = ActivityClock::Interval;

  // `budget` outlives it.
  explicit ActivityDetails(ActivityBudget& budget) : budget_(budget) {}

  [[nodiscard]] bool within(const Interval& when) const;
  // An event within was written: `bytes` of the recording.
  void pay(std::int64_t bytes);

  // `firstWork`: when the first work began, 0: none yet. `settled`: up to where everything is
  // reported. `traced`: kernels are being recorded.
  void plan(std::int64_t now, std::int64_t firstWork, std::int64_t settled, bool traced);
  // `records` were read in the `ns` before: what an interval of details would cost.
  void setRate(std::uint64_t records, std::int64_t ns);

  // Ordered, disjoint; those that ended long before `settled` are gone.
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  // After libraries have loaded and chosen their kernels.
  static constexpr std::int64_t kAfterFirstWork = 3 * kSecond;
  static constexpr std::int64_t kEvery = 60 * kSecond;

  ActivityBudget& budget_;
  std::vector<Interval> intervals_;
  std::int64_t next_ = 0;
  std::int64_t paid_ = 0;  // bytes, in the last interval
  double bytesPerSecond_ = 0;
};

}  // namespace stallprof
