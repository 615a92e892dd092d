// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/facts/facts.h"
#include "analysis/facts/stack_samples.h"
#include "classify/stack_labels.h"

namespace stallprof {

// A line of the user's own at work in the step (`phase` is compute or other): no library's Python
// below it, nor native code that let go of the lock or is known to be a library's.
[[nodiscard]] bool ownPython(const StackLabel& label, const Sample& sample, Phase phase);

// Which functions samples were in, and which lines of the user's called them.
class FunctionTally {
 public:
  explicit FunctionTally(const Trace& trace) : trace_(trace) {}

  // A sample of `thread`, whose stack has `label` on that side, and what it was for. `deviceIdle`:
  // if it runs, a device waits for it.
  void add(ThreadId thread, const StackLabel& label, Phase phase, const SampleLabel& what,
           const Sample& sample, Side side, bool deviceIdle = false);
  // Most samples first. Ends the tally.
  [[nodiscard]] std::vector<FunctionSamples> take();

 private:
  using Key = std::tuple<Side, Phase, StringId, StringId, StringId, StringId, std::uint32_t>;
  struct Function {
    FunctionSamples samples;
    std::set<ProcessId> processes;
    ThreadId last;  // whose process is in the set already
  };

  Function& functionOf(const StackLabel& label, Phase phase, const SampleLabel& what, Side side);

  const Trace& trace_;
  std::map<Key, Function> functions_;
  // Millions of samples, thousands of stacks: each one's function, and that of the latest.
  std::unordered_map<std::uint64_t, Function*> byStack_;
  std::uint64_t latestKey_ = 0;
  Function* latest_ = nullptr;
};

}  // namespace stallprof
