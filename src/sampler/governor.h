// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "sampler/proc/sampler.h"

namespace stallprof {

// A feedback controller with hysteresis: keeps the recorder below a share of one core by sampling
// less often, on a geometric scale of levels: 100, 84, 71, 59, 50 ... 1 samples a second, then one
// thread in 2, 3, 4, ... in turn. Pure: from what was spent follows the pace; no clock is read.
//
// What was spent has two parts, each estimated by a running median, which ignores bursts:
// - Repeated samples cost in proportion to the pace, so the cost at one level predicts that at any
//   other. Estimate: the median of the last 8 intervals (2 s), normalized to level 0.
// - The rest is independent of the pace: what each new thread costs once, the other samplers,
//   writing. Most of it comes once a second, so it is summed over whole seconds. Estimate: the
//   median of the last 5.
// A burst shorter than a second (start-up, 5,000 threads starting at once) changes nothing and
// leaves nothing behind, while a lasting change is followed within seconds. O(1) memory.
class Governor {
 public:
  static constexpr double kShare = 0.01;  // the budget: 1 % of one core
  // Slower above kHighWatermark of a core expected, faster below kLowWatermark: between them it
  // stays, so that noise does not make it oscillate. What kHighWatermark leaves of the budget is
  // for bursts and for the start.
  static constexpr double kHighWatermark = 0.008, kLowWatermark = 0.0067;
  // Samples keep this share even where the rest alone is above the budget: no pace would help then.
  static constexpr double kMin = 0.002;
  static constexpr Nanos kInterval{250'000'000};  // between two updates

  explicit Governor(Nanos fastest);
  // In the last `wall` the recorder spent `cpu`, of it `paced` in repeated samples.
  Pace update(Nanos wall, Nanos cpu, Nanos paced);
  [[nodiscard]] Pace pace() const { return paceOf(level_); }

 private:
  static constexpr std::size_t kIntervals = 8, kSeconds = 5;
  // One level is a factor of 2^(1/4) = 1.19, which is kHighWatermark / kLowWatermark: one step
  // down from the upper mark ends at the lower. Whole octaves left up to half of the budget unused,
  // and the error of a run's shares falls with the number of its samples.
  static constexpr int kLevelsAnOctave = 4;
  [[nodiscard]] int slowest() const;
  [[nodiscard]] Pace paceOf(int level) const;
  [[nodiscard]] double samplesKept(int level) const;  // of those at level 0
  [[nodiscard]] int levelWithin(double share) const;
  void addRest(double wall, double cpu);

  Nanos fastest_;
  int level_ = 0;
  // Shares of a core: the rest by second; samples by interval, as they would cost at level 0.
  std::array<double, kSeconds> rest_{};
  std::array<double, kIntervals> samples_{};
  std::size_t updates_ = 0, secondUpdates_ = 0;
  double wall_ = 0, cpu_ = 0;  // of the second that is not whole yet
};

}  // namespace stallprof
