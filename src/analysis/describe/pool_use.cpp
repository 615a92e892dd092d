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
  struct Beside {
    double spins = 0, works = 0;
  };
  std::vector<Beside> beside;  // each thread but the trainer's
  for (const ThreadLife& thread : trace.threads) {
    if (thread.process != trainer.process) continue;
    double spins = 0, samples = 0;
    eachNative(thread, trainer.windowInterval(), [&](const NativeSlice& native) {
      samples += native.samples;
      if (classes.of(native) == NativeClass::kSpin) spins += native.samples;
    });
    use.samples += samples;
    use.spins += spins;
    if (thread.id == trainer.thread && samples > 0) use.leaderSpins = spins / samples;
    if (thread.id != trainer.thread && spins > 0) beside.push_back({spins, samples - spins});
  }
  if (use.samples <= 0) return {};
  if (beside.empty()) return use;
  const double most =
      std::max_element(beside.begin(), beside.end(), [](const Beside& a, const Beside& b) {
        return a.spins < b.spins;
      })->spins;
  use.threads = 1;
  for (const Beside& each : beside) {
    if (each.spins < kMember * most) continue;
    ++use.threads;
    use.besideWorks += each.works;
  }
  return use;
}

}  // namespace stallprof
