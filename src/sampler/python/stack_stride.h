// SPDX-License-Identifier: MIT
#pragma once

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
  // At 15 bytes each 16 MB an hour, a third of the recording's budget.
  static constexpr std::size_t kSlicesPerSecond = 300;
  static constexpr unsigned kMax = 256;

  [[nodiscard]] unsigned stride() const { return stride_; }
  // Once a second: what stacks cost in it as a part of the budget, the slices they gave, and
  // whether the governor has made samples slower than was asked for. Down again where twice the
  // stacks would be within 80 %.
  unsigned update(double part, std::size_t slices, bool governed) {
    const bool dear = !governed && part > kPart;
    const bool cheap = governed || part < kPart / 2 * 0.8;
    if ((dear || slices > kSlicesPerSecond) && stride_ < kMax)
      stride_ *= 2;
    else if (cheap && 2 * slices < kSlicesPerSecond && stride_ > 1)
      stride_ /= 2;
    return stride_;
  }

 private:
  unsigned stride_ = 1;
};

}  // namespace stallprof::python
