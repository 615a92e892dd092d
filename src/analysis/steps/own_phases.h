// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/stack_samples.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// The user's own functions that make data in a trainer whose loader nobody knows: nothing in them
// is a model's by a known rule, while elsewhere in the trainer something is, and
//  - what they call reads or transforms by known rules for much of their time, or
//  - they work on arrays and call no framework, nor does one call them, and where steps of an
//    optimizer are known they lie after one and before the model is next met. A function that
//    scores the step before by arrays alone cannot be distinguished from these.
// The rest of their time, own lines and arrays, is then transform too. So is that of a line of
// the user's own, in a function that trains, too, which reads, transforms or works on arrays, calls
// no framework, and lies after an optimizer's step and before the model: a batch cut in the loop,
// by a list comprehension of its own (Python from 3.12 on has no frame for it). Without a model
// that rules know nothing distinguishes them: none.
class DataFunctions {
 public:
  DataFunctions() = default;
  // By the samples of `thread` in [begin, end). Pure.
  DataFunctions(const Trace& trace, const StackLabels& labels, const ThreadLife& thread,
                Nanos begin, Nanos end);

  // One of them is in the stack, and nothing nearer says what the sample is.
  [[nodiscard]] bool claim(StackId stack, const StackLabel& label, const SampleLabel& sample) const;

 private:
  std::vector<bool> inside_;  // of each stack, index = StackId - 1: a frame of it is one's
};

}  // namespace stallprof
