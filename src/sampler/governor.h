// SPDX-License-Identifier: MIT
#pragma once

#include "sampler/sampler.h"

namespace stallprof {

// Keeps the recorder below a share of one core by looking less often: 100, 50, 25, ... 1 looks a
// second, then at one thread in 2, 4, ... in turn. A bucket of unspent CPU lets short bursts pass
// (start-up, 40 workers starting at once). Pure: told what was spent, it says how hard to look.
class Governor {
 public:
  static constexpr double kShare = 0.01;      // the budget: 1 % of one core
  static constexpr double kRaiseBelow = 0.8;  // of the budget, as expected at the next faster pace
  static constexpr Nanos kBurst{50'000'000};  // 5 s of budget

  explicit Governor(Nanos fastest);
  // `cpu` was spent in the last `wall`. Call about once a second.
  Pace update(Nanos wall, Nanos cpu);
  [[nodiscard]] Pace pace() const;

 private:
  [[nodiscard]] int slowest() const;

  Nanos fastest_;
  int level_ = 0;  // each halves the looks
  Nanos credit_ = kBurst;
  int calm_ = 0;  // seconds in a row in which the next faster pace would have been allowed
};

}  // namespace stallprof
