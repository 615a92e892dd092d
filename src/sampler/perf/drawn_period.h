// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/time.h"

namespace stallprof {

// Periods of sampling events, drawn again and again. With one period a thread whose rounds take
// about as long is sampled at the same few places of its rounds: a wait of a third of the time was
// seen as 15 % to 46 % of 300 samples. Periods are shorter than asked for, and of their samples so
// many are dropped at random that each one kept stands for `asked`, whatever its period was.
//
// An event that a thread inherited keeps the period of its birth, as the kernel changes only those
// that were opened; of these the kernel goes on to say the period that they were opened with: what
// was asked for, which is never drawn.
class DrawnPeriod {
 public:
  static constexpr double kShortest = 0.7;  // of what was asked for

  explicit DrawnPeriod(Nanos asked = Nanos{1}) : asked_(asked), current_(asked), before_(asked) {}

  // Another period, for the opened events, from `now` on.
  Nanos draw(Nanos now);
  // Whether to keep a sample at `at`, of an event that the kernel says has this period.
  [[nodiscard]] bool keeps(Nanos period, Nanos at);

 private:
  Nanos asked_, current_, before_, since_{};  // before_: until then
  std::uint64_t random_ = 0;
};

}  // namespace stallprof
