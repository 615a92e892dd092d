// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof::agent {

// Decides, once a tick, whether kernels and calls are recorded in the next: always while that is
// cheap, else for one tick in so many that it costs the job no more than kBudget of its time.
// Copies, sets, synchronizations and graph launches, which are few, are recorded all the time.
class Windows {
 public:
  // What one record costs the thread of the program that causes it. Assumed, from what CUPTI costs
  // others; a real GPU is to say (reports/).
  static constexpr std::uint64_t kKernelNs = 1500, kCallNs = 400;
  static constexpr double kBudget = 0.02;    // the design's, of steps of 5 ms and more
  static constexpr double kBackBelow = 0.8;  // of the budget: then continuous again
  static constexpr int kLongestGap = 19;     // ticks: one in twenty is seen, whatever it costs

  // What was seen in a tick of `ns` in which kernels were recorded; the answer is for the next.
  // Of a tick without them nothing is learnt: `seen` false.
  bool next(bool seen, std::uint64_t ns, std::uint64_t kernels, std::uint64_t calls);

 private:
  int ticksOff_ = 0;  // still to come
  bool windowed_ = false;
};

}  // namespace stallprof::agent
