// SPDX-License-Identifier: MIT
#include "recording/activity/activity_details.h"

#include <algorithm>

namespace stallprof {

bool ActivityDetails::within(const Interval& when) const {
  return std::any_of(intervals_.begin(), intervals_.end(), [&](const Interval& interval) {
    return when.begin < interval.end && when.end >= interval.begin;
  });
}

void ActivityDetails::pay(std::int64_t bytes) {
  budget_.payEach(bytes);
  paid_ += bytes;
}

void ActivityDetails::setRate(std::uint64_t records, std::int64_t ns) {
  bytesPerSecond_ = static_cast<double>(records) * ActivityBudget::kWorkBytes /
                    (static_cast<double>(ns) / kSecond);
}

// An interval is cut, but for its first second, where more comes than was thought.
void ActivityDetails::plan(std::int64_t now, std::int64_t firstWork, std::int64_t settled,
                           bool traced) {
  if (!intervals_.empty() && static_cast<double>(paid_) > 2 * ActivityBudget::kEachOnce) {
    Interval& last = intervals_.back();
    last.end = std::min(last.end, std::max(now, last.begin + kSecond));
  }
  while (!intervals_.empty() && intervals_.front().end < settled - 10 * kSecond)
    intervals_.erase(intervals_.begin());
  if (firstWork == 0 || now < firstWork + kAfterFirstWork || now < next_ || !traced) return;
  const Nanos length = budget_.eachFor(bytesPerSecond_);
  if (length == Nanos{}) return;
  intervals_.push_back({now, now + length.count()});
  paid_ = 0;
  next_ = now + kEvery;
}

}  // namespace stallprof
