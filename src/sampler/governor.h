// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "sampler/sampler.h"

namespace stallprof {

// Keeps the recorder below a share of one core by looking less often: 100, 84, 71, 59, 50 ... 1
// looks a second, then at one thread in 2, 3, 4, ... in turn. Pure: told what was spent, it says
// how hard to look.
//
// What was spent has two parts. Repeated looks cost in proportion to the pace, so one interval
// tells what they would cost at any other: of them the median of the last two seconds counts. The
// rest does not heed the pace: what each birth costs once, the other samplers, writing. Most of it
// comes once a second, so of it whole seconds are summed up, and the median of the last five
// counts. A burst shorter than a second (start-up, 5,000 threads starting at once) changes nothing
// and leaves nothing behind, while a lasting change is followed within seconds.
class Governor {
 public:
  static constexpr double kShare = 0.01;  // the budget: 1 % of one core
  // Slower above kMost of a core expected, faster below kLess: between them it stays, so that noise
  // does not make it swing. The rest of the budget is for bursts and for the start.
  static constexpr double kMost = 0.008, kLess = 0.0067;
  // Looks keep this share even where the rest alone is above the budget: no pace would help then.
  static constexpr double kLeast = 0.002;
  static constexpr Nanos kInterval{250'000'000};  // how often it wants to be told

  explicit Governor(Nanos fastest);
  // In the last `wall` the recorder spent `cpu`, of it `paced` in repeated looks.
  Pace update(Nanos wall, Nanos cpu, Nanos paced);
  [[nodiscard]] Pace pace() const { return paceOf(level_); }

 private:
  static constexpr std::size_t kIntervals = 8, kSeconds = 5;
  // A level is as much slower than the one before as kLess is below kMost, about: whole octaves
  // left up to half of the budget unused, and a run's shares are as sure as its looks are many.
  static constexpr int kLevelsAnOctave = 4;
  [[nodiscard]] int slowest() const;
  [[nodiscard]] Pace paceOf(int level) const;
  [[nodiscard]] double looksKept(int level) const;  // of those at level 0
  [[nodiscard]] int levelWithin(double share) const;
  void addRest(double wall, double cpu);

  Nanos fastest_;
  int level_ = 0;
  // Shares of a core: the rest by second, and by interval the looks as they would cost at level 0.
  std::array<double, kSeconds> rest_{};
  std::array<double, kIntervals> looks_{};
  std::size_t told_ = 0, secondsTold_ = 0;
  double wall_ = 0, cpu_ = 0;  // of the second that is not whole yet
};

}  // namespace stallprof
