// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

// Laps of loops, from the lines of one function that looks found a thread at.
namespace stallprof {

// One stretch of looks that found the thread at the same line of a function.
struct Visit {
  StackId place;  // the function's frame at that line
  std::uint32_t line = 0;
  Nanos begin{}, end{};  // from half the gap before its first look, to its last look
  double looks = 0;
  bool entered = false;  // the look before this visit was not in the function
};

struct Lap {
  Nanos begin{}, end{};
};

// A loop in the function: its laps begin at `anchor`, the first of its lines that looks tell apart.
struct Loop {
  StackId anchor;
  std::vector<Lap> laps;  // by time, not overlapping
  Nanos period{};         // the median lap
  double even = 0;        // share of the laps within kEvenWithin of it
  Nanos time{};           // of all laps
};

// A loop is counted where looks can miss none of its laps. What recurs about as fast as looks come
// is seen a little further on by each, and so seems slow; but looks fall up to 10 % of their period
// beside their grid (sampler_loop.h), which cuts such seeming laps. Drawn for steps of 3 to 20 ms
// in two to five lines, looked at every 10 ms: none of 15 looks or more was even.
inline constexpr double kLapLooks = 16;
inline constexpr double kEvenWithin = 0.35, kEvenEnough = 0.85;
inline constexpr std::size_t kFewestLaps = 3;

// The loops that can be counted, those with most laps last. `visits` are of one function, by time.
[[nodiscard]] std::vector<Loop> findLoops(const std::vector<Visit>& visits);

// How often the function went back to an earlier line without being left.
[[nodiscard]] std::size_t countReturns(const std::vector<Visit>& visits);

}  // namespace stallprof
