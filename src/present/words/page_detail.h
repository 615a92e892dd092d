// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "present/words/page.h"

// What of a report a page of kTextLines lines has room for.
namespace stallprof {

inline constexpr std::size_t kLabel = 12;  // columns: "STEP TIME   "

// How many items are shown. Items are left out, words never, as long as the texts are ours: only
// beside names of the job's that fill a page are fields cut to `fieldLines`.
struct Detail {
  std::size_t rows = 8, unfolded = 3, evidence = 5, evidenceOfOthers = 4, diffLines = 6, advice = 3,
              epochs = 4, listed = 24, functions = 8, lines = 8, natives = 8,
              fieldLines = kMaxFieldLines;
};

// Taken in this order, one at a time, until the page fits into kTextLines: what says least about
// rank 1 goes first, what rank 1 rests on goes last.
struct Reduction {
  std::size_t Detail::*item;
  std::size_t to;
};
inline constexpr Reduction kReductions[] = {
    {&Detail::evidenceOfOthers, 3},
    {&Detail::advice, 2},
    {&Detail::epochs, 3},
    {&Detail::rows, 6},
    {&Detail::natives, 3},
    {&Detail::evidenceOfOthers, 2},
    {&Detail::diffLines, 4},
    {&Detail::evidence, 4},
    {&Detail::advice, 1},
    {&Detail::unfolded, 2},
    {&Detail::rows, 5},
    {&Detail::functions, 6},
    {&Detail::lines, 6},
    {&Detail::epochs, 2},
    {&Detail::evidenceOfOthers, 1},
    {&Detail::functions, 4},
    {&Detail::natives, 2},
    {&Detail::rows, 3},
    {&Detail::unfolded, 1},
    {&Detail::functions, 3},
    {&Detail::lines, 4},
    {&Detail::evidence, 3},
    {&Detail::listed, 8},
    {&Detail::epochs, 1},
    {&Detail::functions, 2},
    {&Detail::natives, 1},
    {&Detail::diffLines, 2},
    {&Detail::rows, 1},
    {&Detail::evidence, 2},
    {&Detail::functions, 1},
    {&Detail::lines, 2},
    {&Detail::natives, 0},
    {&Detail::listed, 6},
    {&Detail::evidence, 1},
    {&Detail::diffLines, 0},
    {&Detail::functions, 0},
    {&Detail::lines, 0},
    {&Detail::listed, 3},
    {&Detail::fieldLines, 4},
    {&Detail::fieldLines, 2},
    {&Detail::fieldLines, 1},
};

}  // namespace stallprof
