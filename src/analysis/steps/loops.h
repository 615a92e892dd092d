// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "base/time.h"

// Iterations of loops, from the lines of one function that samples found a thread at.
namespace stallprof {

// Samples in a row that found the thread at the same line of a function: from half the gap before
// the first to the last.
struct Visit : Interval {
  StackId place;  // the function's frame at that line
  std::uint32_t line = 0;
  double samples = 0;
  bool entered = false;  // the sample before this visit was not in the function
};

// A loop in the function: its iterations begin at `anchor`, the first of its lines that samples
// distinguish.
struct Loop {
  StackId anchor;
  std::vector<Interval> iterations;  // by time, not overlapping
  Nanos period{};                    // the median iteration
  double even = 0;                   // share of the iterations within kEvenWithin of it
  Nanos time{};                      // of all iterations
};

// A loop is counted where samples can miss none of its iterations. What recurs about as fast as it
// is sampled is seen a little further on by each sample, and so seems slow (aliasing); but samples
// fall up to 10 % of their period beside their grid (sampler_loop.h), which cuts such false
// iterations. Simulated for steps of 3 to 20 ms in two to five lines, sampled every 10 ms: no false
// iteration of 15 samples or more was even.
inline constexpr double kIterationSamples = 16;
inline constexpr double kEvenWithin = 0.35, kEvenEnough = 0.85;
inline constexpr std::size_t kMinIterations = 3;

// The loops that can be counted, those with most iterations last. `visits` are of one function, by
// time.
[[nodiscard]] std::vector<Loop> findLoops(const std::vector<Visit>& visits);

// How often the function went back to an earlier line without being left.
[[nodiscard]] std::size_t countReturns(const std::vector<Visit>& visits);

}  // namespace stallprof
