// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/function_tally.h"

#include <algorithm>
#include <utility>

namespace stallprof {

bool ownPython(const StackLabel& label, const Sample& sample, Phase phase) {
  const bool ofStep = phase == Phase::kCompute || phase == Phase::kOther;
  return ofStep && sample.wait == Wait::kRunning && sample.stack->gil == Gil::kHolds &&
         label.hot == label.python && label.usersLine() && !sample.stack->gc;
}

FunctionTally::Function& FunctionTally::functionOf(const StackLabel& label, Phase phase,
                                                   const SampleLabel& what, Side side) {
  const StackSeen& hot = trace_.stack(label.hot);
  const StackSeen& user = trace_.stack(label.user);
  Function& f =
      functions_[{side, phase, hot.function, hot.file, user.function, user.file, user.line}];
  if (f.samples.rule.empty())
    f.samples = {side, phase, what.overhead, std::string(what.rule), label.hot, label.user};
  return f;
}

void FunctionTally::add(ThreadId thread, const StackLabel& label, Phase phase,
                        const SampleLabel& what, const Sample& sample, Side side, bool deviceIdle) {
  const std::uint64_t key = (std::uint64_t{sample.stack->stack.value} << 16) |
                            (static_cast<std::uint64_t>(phase) << 8) |
                            static_cast<std::uint64_t>(side);
  if (!latest_ || key != latestKey_) {
    Function*& known = byStack_[key];
    if (!known) known = &functionOf(label, phase, what, side);
    latest_ = known;
    latestKey_ = key;
  }
  Function& f = *latest_;
  f.samples.samples += sample.count;
  for (std::uint32_t i = 0; i < sample.count; ++i) f.samples.seconds += seconds(sample.weight);
  if (sample.wait == Wait::kRunning) {
    f.samples.running += sample.count;
    if (deviceIdle) f.samples.whileIdle += sample.count;
  }
  if (ownPython(label, sample, phase)) f.samples.ownPython += sample.count;
  if (sample.stack->gil == Gil::kWaits) f.samples.lockWaits += sample.count;
  if (side == Side::kTrainer && phase == Phase::kCompute && sample.wait == Wait::kFutex &&
      sample.stack->gil == Gil::kReleased && label.hot == label.python && label.usersLine())
    f.samples.blockedInOwn += sample.count * seconds(sample.weight);
  if (thread == f.last) return;
  f.last = thread;
  f.processes.insert(trace_.thread(thread).process);
}

std::vector<FunctionSamples> FunctionTally::take() {
  std::vector<FunctionSamples> all;
  for (auto& [key, function] : functions_) {
    function.samples.processes = static_cast<std::uint32_t>(function.processes.size());
    all.push_back(std::move(function.samples));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.samples > b.samples; });
  return all;
}

}  // namespace stallprof
