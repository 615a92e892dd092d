// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "analysis/facts/native_samples.h"
#include "analysis/facts/stack_samples.h"
#include "classify/stack_labels.h"

namespace stallprof {

// Decompression inside calls that read: of a store's library (h5py, tables) only the call shows in
// Python. Native samples of the thread say how much of its CPU time is zlib's and the like, samples
// of its stacks how much is in calls that read: that part of the reading is transform. What else
// the thread transforms by its stacks may be the same time, and is taken off first.
class Unpacking {
 public:
  Unpacking(const Trace& trace, const StackLabels& labels, Nanos begin, Nanos end)
      : trace_(trace), labels_(labels), begin_(begin), end_(end), classes_(trace) {}

  // Whether this sample of `thread`, on a CPU in a call that reads, counts as unpacking: as many do
  // as are that part.
  [[nodiscard]] bool counts(ThreadId thread, Side side, const Sample& sample);

 private:
  struct Reading {
    double share = 0;  // of its reading, on a CPU
    double owed = 0;   // samples that the share still asks for
  };
  [[nodiscard]] double shareOf(const ThreadLife& thread, Side side);

  const Trace& trace_;
  const StackLabels& labels_;
  const Nanos begin_, end_;
  NativeClasses classes_;
  std::map<ThreadId, Reading> readings_;
};

}  // namespace stallprof
