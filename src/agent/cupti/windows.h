// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// Decides, once a tick, whether anything is recorded in the next: always while that is cheap, else
// for one tick in so many that it costs the job no more than kBudget of its time. Between windows
// nothing is: copies alone, of which there may be none, cost a launch 7 us.
class Windows {
 public:
  // What one record costs the threads that use the device, a launch having one of each: 13.5 us. Of
  // reports/gpu.md: steps recorded against those beside, by their launches, 12 to 14 us.
  static constexpr std::uint64_t kKernelNs = 11'500, kCallNs = 2'000;
  static constexpr double kBudget = 0.02;    // a step of 5 ms or more may take 2 % longer
  static constexpr double kBackBelow = 0.8;  // of the budget: then continuous again
  // Ticks: one in thirty is seen, whatever it costs. The first windows are closer to each other, or
  // of a short run its start alone would be seen: this many, then twice as many each time.
  static constexpr int kLongestGap = 29, kFirstGap = 4;

  // What was seen in a tick of `ns`.
  struct Tick {
    bool recorded = true;
    std::uint64_t ns = 0, kernels = 0, calls = 0;
  };
  // Whether the next is recorded. A tick in which nothing happened leaves its window open.
  bool next(const Tick& tick);
  // A window is over, at an update of the model. What was recorded since the tick in which it was
  // to end makes the gap longer.
  void ended(const Tick& since);

 private:
  int ticksOff_ = 0;  // still to come
  int firstGap_ = kFirstGap;
  bool windowed_ = false;
};

}  // namespace stallprof::agent
