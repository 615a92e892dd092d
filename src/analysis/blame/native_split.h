// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "analysis/facts/native_samples.h"
#include "analysis/facts/stack_samples.h"
#include "classify/native_work.h"
#include "classify/stack_labels.h"

namespace stallprof {

// Where Python's frames do not say whether CPU time reads or transforms, native samples of the
// thread say how much of it is which:
//  - inside calls that read, of a store's library (h5py, tables), decompression is transform;
//  - in code that transforms, or says nothing, what the kernel spends on opening and reading files
//    is extract: os.pread() has no frame of Python's own.
// What the thread does of that kind by its stacks may be the same time, and is taken off first.
// Samples of the stacks are divided in that proportion, evenly. Not thread-safe.
class NativeSplit {
 public:
  NativeSplit(const Trace& trace, const StackLabels& labels, Nanos begin, Nanos end)
      : trace_(trace), labels_(labels), begin_(begin), end_(end), classes_(trace) {}

  // Whether this sample of `thread`, on a CPU in a call that reads, counts as unpacking.
  [[nodiscard]] bool unpacks(ThreadId thread, Side side, const Sample& sample);
  // Whether this sample of a thread that makes batches, on a CPU in what is transform, counts as
  // reading. `making`: when it makes them, in order; empty: all the time.
  [[nodiscard]] bool reads(ThreadId thread, const Intervals& making, const Sample& sample);
  // Native samples of the thread: all, and those in the kernel, opening (and finding, and closing)
  // files, and reading them.
  struct FileCalls {
    double all = 0, opening = 0, reading = 0;
  };
  [[nodiscard]] FileCalls fileCalls(ThreadId thread);

 private:
  struct Part {
    double share = 0;  // of the samples that are asked for
    double owed = 0;   // samples that the share still asks for
    // As many as the share asks for, spread evenly.
    [[nodiscard]] bool take(const Sample& sample);
  };
  // Running samples of a thread: all, and in `within` by their stacks.
  struct Running {
    double all = 0, extract = 0, transform = 0, vague = 0;  // vague: transform that no rule names
  };
  [[nodiscard]] Running runningOf(const ThreadLife& thread, Side side, const Intervals& within);
  [[nodiscard]] double unpackingOf(const ThreadLife& thread, Side side);
  [[nodiscard]] double readingOf(const ThreadLife& thread, const Intervals& making);
  [[nodiscard]] NativeWork::Is callOf(const NativeSlice& native);

  const Trace& trace_;
  const StackLabels& labels_;
  const Nanos begin_, end_;
  NativeClasses classes_;
  std::map<ThreadId, Part> unpacking_, reading_;
  std::map<StringId, NativeWork::Is> calls_;  // by the kernel's function
};

}  // namespace stallprof
