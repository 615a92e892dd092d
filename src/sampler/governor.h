// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "sampler/proc/sampler.h"

namespace stallprof {

// A feedback controller with hysteresis: keeps the recorder within its budget by sampling less
// often, on a geometric scale of levels: 100, 84, 71, 59, 50 ... 1 samples a second, then one
// thread in 2, 3, 4, ... in turn. Once it is known which threads train, turns begin at 10 a second:
// those threads are sampled so often at any level. Pure: from what was spent follows the pace; no
// clock is read.
//
// The budget is a share (kShare, or what the user asked for) of the CPU that the job itself takes,
// at least of one core, and never more than kMaxBudget of a core: a job of 16 busy threads has
// 16 times as many samples to take as a job of one. The job's CPU is the mean of some 5 s, so that
// the recorder's total stays within the share of the job's total. Until it is known it counts as
// less than a core.
//
// What was spent has two parts, each estimated by a running median, which ignores bursts:
// - Repeated samples cost in proportion to the pace, so the cost at one level predicts that at any
//   other. Estimate, normalized to level 0: the median of the intervals of the last 2 s, at
//   least 3. An interval lasts 250 ms, or until something is sampled, or a round of the threads
//   that take turns, 4 s at most. A slow pace comes back in steps of two octaves.
// - The rest is independent of the pace: what each new thread costs once, the other samplers,
//   writing. Most of it comes once a second, so it is summed over whole seconds. Estimate: the
//   median of the last 5, or the mean of the last 2 where that is less: an import takes seconds,
//   and what it cost says nothing of the training after it.
// A burst shorter than a second (start-up, 5,000 threads starting at once) changes nothing and
// leaves nothing behind, while a lasting change is followed within seconds. O(1) memory.
class Governor {
 public:
  static constexpr double kShare = 0.01;
  static constexpr double kMaxBudget = 0.25;  // of one core
  // Parts of the budget. Slower above kHighWatermark of it expected, faster below kLowWatermark:
  // between them it stays, so that noise does not make it oscillate. What kHighWatermark leaves is
  // for bursts and for the start.
  static constexpr double kHighWatermark = 0.8, kLowWatermark = 0.67;
  // Samples keep this part even where the rest alone is above the budget: no pace would help then.
  static constexpr double kMin = 0.2;
  static constexpr Nanos kInterval{250'000'000};  // between two updates

  // `fastest`: 1 ms to 1 s.
  explicit Governor(Nanos fastest, double share = kShare);
  // In the last `wall` the recorder spent `cpu`, of it `paced` in repeated samples; `job` is by how
  // much the figure of the job's CPU grew in `wall` and in the `paused` time beside it, in which
  // nothing was sampled. It is brought up to date about once a second.
  Pace update(Nanos wall, Nanos cpu, Nanos paced, Nanos job = Nanos::zero(),
              Nanos paused = Nanos::zero());
  [[nodiscard]] Pace pace() const { return paceOf(level_); }
  // Some threads are sampled with every round.
  void setPreferring() { slowest_ = kPreferred; }

 private:
  static constexpr std::size_t kIntervals = 8, kMinIntervals = 3, kSeconds = 5;
  // One level is a factor of 2^(1/4) = 1.19, which is kHighWatermark / kLowWatermark: one step
  // down from the upper mark ends at the lower. Whole octaves left up to half of the budget unused,
  // and the error of a run's shares falls with the number of its samples.
  static constexpr int kLevelsAnOctave = 4;
  static constexpr Nanos kSlowest{1'000'000'000}, kPreferred{100'000'000};
  [[nodiscard]] int slowestLevel() const;
  [[nodiscard]] Pace paceOf(int level) const;
  [[nodiscard]] double samplesKept(int level) const;  // of those at level 0
  [[nodiscard]] int levelWithin(double part) const;   // of the budget
  [[nodiscard]] double rest() const;
  [[nodiscard]] double samples() const;
  void addRest(double wall, double cpu);
  bool addSamples(double wall, double cpu);  // false: the interval goes on
  void addJob(double wall, double cpu);

  struct Spent {
    double wall = 0, cpu = 0;
  };
  Nanos fastest_, slowest_ = kSlowest;  // periods
  double share_, budget_;               // of the job's CPU; of one core, now
  int level_ = 0;
  // Shares of a core: the rest by second; samples by interval, as they would cost at level 0.
  std::array<double, kSeconds> rest_{};
  struct Interval {
    double wall = 0, samples = 0;
  };
  std::array<Interval, kIntervals> samples_{};
  std::array<Spent, kSeconds> job_{};  // each from one growth of its CPU to the next
  std::size_t updates_ = 0, secondUpdates_ = 0, jobUpdates_ = 0;
  Spent second_, jobSecond_, sampled_;  // those that are not whole yet
};

}  // namespace stallprof
