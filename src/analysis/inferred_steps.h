// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/laps.h"
#include "analysis/roles.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// Steps of a program that the hook does not know: laps of the loop that its main thread trains in.
struct InferredSteps {
  TrainerIdentity who;
  std::vector<Lap> laps;  // by time; empty: steps are unknown
  StackId line;           // of the loop, where its laps begin
  bool sure = false;      // a known update of a model in each of many even laps
  std::string why;        // in words for a person: which loop, or why none
};

// Of the process whose main thread was looked at most, unless it works for another. Wrong steps are
// worse than none:
//  - Of loops around frames that rules know to update a model (`update = true`) the innermost is
//  it,
//    and no other. Where updates come too fast or unevenly for looks to count, there is none.
//  - Without such frames the loop must be the only one that fits: no other in it, around it or
//    beside it that holds much of its time. Which of two is the step's nobody can tell: epochs
//    around steps look like steps around samples.
// Laps are even (kEvenEnough), at least kFewestInferred, and hold kLeastTime of all looks. Pure.
inline constexpr std::size_t kFewestInferred = 20;  // as few as a verdict asks for
[[nodiscard]] InferredSteps inferSteps(const Trace& trace, const StackLabels& labels,
                                       const Roles& roles);

}  // namespace stallprof
