// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

namespace stallprof::python {

// Of how many samples of threads that run one goes on to their stacks. More than one only where
// nothing else bounds the cost: while the pace is the fastest the governor may not have heard of it
// yet (a start), and slices fill the recording at any pace. Once it has slowed the samples, the
// stacks are in what it counts, and leaving out half of them would spend on samples what stacks are
// worth more. Pure.
class StackStride {
 public:
  static constexpr double kPart = 0.4;  // of the recorder's budget
  // For each hundredth of a core that the budget is, which is each core the job uses (Governor):
  // three busy threads, each sample of which differs from the one before. At 10 to 14 bytes each up
  // to 15 MB an hour, a third of the budget of a recording.
  static constexpr std::size_t kSlicesPerSecond = 300;
  // 16 threads at 100 Hz that never show the same stack twice give 1,600: 60 to 80 MB an hour.
  static constexpr std::size_t kMaxSlicesPerSecond = 2000;
  static constexpr unsigned kMax = 256;

  [[nodiscard]] unsigned stride() const { return stride_; }
  // Once a second: the part of one core that the recorder may take (Pace), how much of that stacks
  // cost in it, the slices they gave, and whether the governor has made samples slower than was
  // asked for. Down again where twice the stacks would be within 80 %.
  unsigned update(double budget, double spent, std::size_t slices, bool governed) {
    const std::size_t limit = slicesWithin(budget);
    const double part = spent / budget;
    const bool dear = !governed && part > kPart;
    const bool cheap = governed || part < kPart / 2 * 0.8;
    if ((dear || slices > limit) && stride_ < kMax)
      stride_ *= 2;
    else if (cheap && 2 * slices < limit && stride_ > 1)
      stride_ /= 2;
    return stride_;
  }

 private:
  static std::size_t slicesWithin(double budget) {
    const double cores = std::max(budget / 0.01, 1.0);
    return std::min(static_cast<std::size_t>(cores * kSlicesPerSecond), kMaxSlicesPerSecond);
  }
  unsigned stride_ = 1;
};

}  // namespace stallprof::python
