// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/lock_samples.h"

#include <algorithm>

#include "analysis/blame/samples/function_tally.h"

namespace stallprof {
namespace {

// Whether the thread wants the lock often enough to count as one of those that share it.
bool addThread(StackFacts& facts, const ThreadLife& thread, const Interval& within) {
  double wanted = 0;
  eachSlice(thread, within.begin, within.end, [&](const auto& row, std::uint32_t count) {
    if (row.data.gil != Gil::kHolds && row.data.gil != Gil::kWaits) return;
    wanted += count;
    facts.lockWanted.add(&row.data, count);
    if (row.data.gil == Gil::kWaits) facts.lockWaits += count;
  });
  return wanted >= kEnoughWorkerSamples;
}

// Who holds the lock beside the trainer.
void addHolders(StackFacts& facts, const Trace& trace, const StackLabels& labels, ThreadId trainer,
                const std::set<ThreadId>& makers, const Interval& within) {
  FunctionTally holders(trace);
  for (const ThreadId id : trace.process(trace.thread(trainer).process).threads) {
    if (id == trainer) continue;
    const bool makes = makers.contains(id);
    eachRun(
        trace, trace.thread(id), within.begin, within.end,
        [](const Sample& sample) { return sample.stack->gil == Gil::kHolds; },
        [&](const Sample& run) {
          facts.lockBeside += run.count;
          facts.lockProducers += makes ? run.count : 0;
          if (makes) return;
          const StackLabel& label = labels.of(run.stack->stack, Side::kTrainer);
          const SampleLabel what = StackLabels::sample(label, run.wait, run.stack->gc);
          if (what.phase == Phase::kLoad) return;  // it hands over indices or batches
          facts.lockOthers += run.count;
          holders.add(id, label, what.phase, what, run, Side::kTrainer);
        });
  }
  facts.lockHolders = holders.take();
}

}  // namespace

void addLockSamples(StackFacts& facts, const Trace& trace, const StackLabels& labels,
                    const std::set<ProcessId>& producing, ThreadId trainer,
                    const std::set<ThreadId>& makers, const Interval& within) {
  for (const ProcessId id : producing) {
    // Of the trainer's process only those that are known to make data, if any is.
    const bool all = makers.empty() || id != trace.thread(trainer).process;
    std::uint32_t threads = 0;
    for (const ThreadId thread : trace.process(id).threads)
      if (all || makers.contains(thread)) threads += addThread(facts, trace.thread(thread), within);
    facts.lockThreads = std::max(facts.lockThreads, threads);
  }
  addHolders(facts, trace, labels, trainer, makers, within);
}

void addOwnLock(StackFacts& facts, const Sample& sample) {
  if (sample.stack->gil == Gil::kUnknown) return;
  const bool waits = sample.stack->gil == Gil::kWaits;
  if (waits || sample.wait != Wait::kRunning) facts.ownIdle.add(sample.stack);
  facts.ownLockWaits += waits;
}

}  // namespace stallprof
