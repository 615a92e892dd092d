// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/steps/loops.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// A Python function that a thread was in for much of the time, by samples of its stacks.
struct Recurrence {
  StackId place;              // one of its own frames
  std::size_t depth = 0;      // frames further out
  double seconds = 0;         // in it or in what it called, while the model works
  std::size_t returns = 0;    // how often it went back to an earlier line
  std::vector<Loop> loops;    // those that can be counted, most iterations last
  std::vector<Visit> visits;  // to its lines, by time
  bool updates = false;       // it called what updates a model
};

struct Recurrences {
  std::vector<Recurrence> functions;  // outermost first
  std::vector<Nanos> updates;         // when each interval of samples in an update began
  Interval work;                      // while the model works
  double seconds = 0;                 // the weight of all samples in it
};

// The functions in which more than one line was seen, and that held at least kMinTime of the
// samples of `thread` while the model works: from the first to the last sample in a model's or a
// framework's code, 2 % of these at either end left out, as a model is also made and saved. So
// neither setup nor teardown counts, however long; all of the run does where such samples are few.
// Compiling is none of that work: once a model is compiled, nothing may show it.
// Pure.
inline constexpr double kMinTime = 0.25;
[[nodiscard]] Recurrences findRecurrences(const Trace& trace, const ThreadLife& thread,
                                          const StackLabels& labels);

}  // namespace stallprof
