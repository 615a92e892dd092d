// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "analysis/describe/resources.h"
#include "analysis/facts/native_samples.h"
#include "analysis/facts/source_lines.h"
#include "classify/native_work.h"

namespace stallprof {
namespace {

constexpr double kMinPoolSamples = 30;  // samples

// Of the spin samples of the thread with the most: fewer are of a short region, or of another pool.
constexpr double kMember = 0.1;

void countLocks(const Trace& trace, const ThreadLife& thread, const Interval& window,
                NativeClasses& classes, PoolUse& to) {
  eachNative(thread, window, [&](const NativeSlice& native) {
    const NativeClass is = classes.of(native);
    const std::string_view symbol = trace.text(native.function);
    const bool openMp = isOfOpenMp(symbol);
    if (is == NativeClass::kLock) {
      to.locks += native.samples;
      to.openMpLocks += openMp ? native.samples : 0;
    }
    if (isFutex(is, symbol)) to.futex += native.samples;
    if (openMp || isOpenMpLoop(symbol)) to.openMp += native.samples;
  });
}

}  // namespace

Maybe<PoolUse> poolUse(const Trace& trace, const TrainerFacts& trainer) {
  NativeClasses classes(trace);
  PoolUse use;
  std::vector<Spins> beside;  // each thread but the trainer's
  for (const ThreadLife& thread : trace.threads) {
    if (thread.process != trainer.process) continue;
    const Spins own = spinsIn(thread, trainer.windowInterval(), classes);
    use.samples += own.samples;
    use.spins += own.spins;
    if (trace.stacks.empty()) countLocks(trace, thread, trainer.windowInterval(), classes, use);
    if (thread.id == trainer.thread && own.samples > 0) use.leaderSpins = own.spins / own.samples;
    if (thread.id != trainer.thread && own.spins > 0) beside.push_back(own);
  }
  if (use.samples <= 0) return {};
  if (beside.empty()) return use;
  double maximum = 0;
  for (const Spins& each : beside) maximum = std::max(maximum, each.spins);
  use.threads = 1;
  for (const Spins& each : beside) {
    if (each.spins < kMember * maximum) continue;
    ++use.threads;
    use.besideWorks += each.works();
  }
  return use;
}

Maybe<ThreadsSet> threadsSet(const Trace& trace, const TrainerFacts& trainer) {
  Maybe<ThreadsSet> last;
  for (const auto& row : trace.settings) {
    if (row.data.process != trainer.process || row.at >= trainer.windowEnd) continue;
    if (trace.text(row.data.name) != SettingChanged::kThreads) continue;
    const std::string_view text = trace.text(row.data.to);
    int threads = 0;
    std::from_chars(text.data(), text.data() + text.size(), threads);
    if (threads < 1) continue;
    last = ThreadsSet{threads, lineAt(trace, row.data.file, row.data.line)};
  }
  return last;
}

Maybe<Share> workerSpins(const Trace& trace, const TrainerFacts& trainer) {
  NativeClasses classes(trace);
  Spins all;
  for (const WorkerFacts& worker : trainer.workers)
    for (const ThreadId id : trace.process(worker.process).threads) {
      const Spins own = spinsIn(trace.thread(id), trainer.windowInterval(), classes);
      all.samples += own.samples;
      all.spins += own.spins;
    }
  if (all.samples < kMinPoolSamples) return {};
  SampleSum sum;
  sum.samples = sum.squares = all.samples;
  return shareOf(all.spins, sum);
}

}  // namespace stallprof
