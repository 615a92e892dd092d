// SPDX-License-Identifier: MIT
#include "analysis/describe/pool_use.h"

#include <algorithm>
#include <vector>

#include "analysis/facts/native_samples.h"

namespace stallprof {
namespace {

// Of the spin samples of the thread with the most: fewer are of a short region, or of another pool.
constexpr double kMember = 0.1;

}  // namespace

Maybe<PoolUse> poolUse(const Trace& trace, const TrainerFacts& trainer) {
  NativeClasses classes(trace);
  PoolUse use;
  std::vector<double> beside;  // spins of each thread but the trainer's
  for (const ThreadLife& thread : trace.threads) {
    if (thread.process != trainer.process) continue;
    double spins = 0;
    eachNative(thread, trainer.windowInterval(), [&](const NativeSlice& native) {
      use.samples += native.samples;
      if (classes.of(native) == NativeClass::kSpin) spins += native.samples;
    });
    use.spins += spins;
    if (thread.id != trainer.thread && spins > 0) beside.push_back(spins);
  }
  if (use.samples <= 0) return {};
  if (beside.empty()) return use;
  const double most = *std::max_element(beside.begin(), beside.end());
  use.threads = 1 + static_cast<int>(std::count_if(beside.begin(), beside.end(), [&](double each) {
                  return each >= kMember * most;
                }));
  return use;
}

}  // namespace stallprof
