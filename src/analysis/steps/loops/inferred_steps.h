// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/steps/loops.h"
#include "analysis/steps/roles.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// Steps of a program that the hook does not know: iterations of the loop that its main thread
// trains in.
struct InferredSteps {
  TrainerIdentity who;
  std::vector<Interval> iterations;  // by time; empty: steps are unknown
  StackId line;                      // of the loop, where its iterations begin
  bool sure = false;                 // a known update of a model in each of many even iterations
  std::string why;                   // in words for a person: which loop, or why none
};

// Of the process whose main thread has most samples, unless it works for another. Wrong steps are
// worse than none:
//  - Of loops around frames that rules know to update a model (`update = true`) the innermost is
//  it,
//    and no other. Where updates come too fast or unevenly for samples to count, there is none.
//  - Without such frames the loop must be the only one that fits: no other in it, around it or
//    beside it that holds much of its time. Which of two is the step's cannot be known: epochs
//    around steps have the same stacks as steps around samples.
// Iterations are even (kEvenEnough), at least kMinInferred, and hold kMinTime of all samples. Pure.
inline constexpr std::size_t kMinInferred = 20;  // as few as a verdict asks for
[[nodiscard]] InferredSteps inferSteps(const Trace& trace, const StackLabels& labels,
                                       const Roles& roles);

}  // namespace stallprof
