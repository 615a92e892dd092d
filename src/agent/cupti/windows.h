// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "agent/cupti/launch_times.h"
#include "recording/memory/activity_memory.h"

namespace stallprof::agent {

// Decides, once a tick, whether kernels and calls are recorded in the next: always while that is
// cheap, else for one tick in so many that it costs the job no more than kBudget of its time.
// Copies, sets, synchronizations and graph launches, which are few, are recorded all the time.
//
// What a kernel's record costs the thread that launches it is measured here, in this program: now
// and then calls are recorded alone for a tick, and how much longer launches take in the next, with
// kernels, is the cost. It is not believed to be less than kKernelNs: the device's part of it, and
// that of CUPTI's own thread, is not in the time of a launch.
class Windows {
 public:
  // What one record costs until it is measured, and a kernel's at least; a call's is not measured.
  // On an H200 with CUPTI 13.0.85: 2.0 to 2.5 us and 0.9 us of the launching thread.
  static constexpr std::uint64_t kKernelNs = 2300, kCallNs = 900;
  static constexpr std::uint64_t kMaxKernelNs = 100'000;  // more is another thing that happened
  static constexpr double kBudget = 0.02;    // a step of 5 ms or more may take 2 % longer
  static constexpr double kBackBelow = 0.8;  // of the budget: then continuous again
  static constexpr int kLongestGap = 19;     // ticks: one in twenty is seen, whatever it costs
  // Launches of a tick, enough to measure what they take; and a cost below which ten times it would
  // be tolerated.
  static constexpr std::uint64_t kEnough = 200;
  static constexpr double kNoMatter = 0.1;                   // of the budget
  static constexpr int kMeasureEvery = 300, kTryEvery = 30;  // ticks

  // Of kernels and calls. kAll: those that are wanted.
  enum class Record : std::uint8_t { kNone, kCalls, kAll };
  // What was seen in a tick of `ns`.
  struct Tick {
    Record recorded = Record::kAll;
    std::uint64_t ns = 0, kernels = 0, calls = 0;
    LaunchTimes::Sum launches;
  };
  // The answer is for the next. Of a tick without records nothing is learnt.
  Record next(const Tick& tick);

 private:
  [[nodiscard]] bool mayMeasure() const;
  Record off();
  void learn(const LaunchTimes::Sum& with);

  int ticksOff_ = 0;  // still to come
  bool windowed_ = false, launching_ = false, measured_ = false;
  int sinceTry_ = kTryEvery;    // ticks since calls were recorded alone
  LaunchTimes::Sum without_{};  // launches in that tick, where it was the last one
  std::uint64_t kernelNs_ = kKernelNs;
};

}  // namespace stallprof::agent
