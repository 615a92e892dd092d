// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "analysis/facts/native_samples.h"
#include "analysis/facts/stack_samples.h"
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

  // What a sample is for, by its stack and the thread's unpacking.
  [[nodiscard]] SampleLabel label(ThreadId thread, const StackLabel& stack, Side side,
                                  const Sample& sample);
  // What `what` is, of a thread that makes batches: where it is transform on a CPU, as many samples
  // as the kernel reads for are extract. `making`: when it makes them, in order; empty: always.
  [[nodiscard]] SampleLabel split(ThreadId thread, const Intervals& making, const Sample& sample,
                                  const SampleLabel& what);
  // Native samples of the thread: all; in code that decompresses; in the kernel, opening (and
  // finding, and closing) files, and reading them.
  struct Natives {
    double all = 0, unpacking = 0, opening = 0, reading = 0;
  };
  [[nodiscard]] Natives nativesOf(const ThreadLife& thread);

  struct Part {
    double share = 0;  // of the samples that are asked for
    double owed = 0;   // samples that the share still asks for
    // As many as the share asks for, spread evenly.
    [[nodiscard]] bool take(const Sample& sample);
  };

 private:
  // Running samples of a thread: all, and in `within` by their stacks.
  struct Running {
    double all = 0, extract = 0, transform = 0, vague = 0;  // vague: transform that no rule names
  };
  [[nodiscard]] Running runningOf(const ThreadLife& thread, Side side, const Intervals& within);
  [[nodiscard]] bool unpacks(ThreadId thread, Side side, const Sample& sample);
  [[nodiscard]] bool reads(ThreadId thread, const Intervals& making, const Sample& sample);
  [[nodiscard]] double unpackingOf(const ThreadLife& thread, Side side);
  [[nodiscard]] double readingOf(const ThreadLife& thread, const Intervals& making);

  const Trace& trace_;
  const StackLabels& labels_;
  const Nanos begin_, end_;
  NativeClasses classes_;
  std::map<ThreadId, Part> unpacking_, reading_;
};

}  // namespace stallprof
