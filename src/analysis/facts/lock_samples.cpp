// SPDX-License-Identifier: MIT
#include "analysis/facts/lock_samples.h"

#include <algorithm>

#include "analysis/facts/stack_samples.h"

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

}  // namespace

void addLockSamples(StackFacts& facts, const Trace& trace, const std::set<ProcessId>& producing,
                    ThreadId trainer, const std::vector<ThreadId>& makers, const Interval& within) {
  for (const ProcessId id : producing) {
    std::uint32_t threads = 0;
    for (const ThreadId thread : trace.process(id).threads)
      threads += addThread(facts, trace.thread(thread), within);
    facts.lockThreads = std::max(facts.lockThreads, threads);
  }
  for (const ThreadId id : trace.process(trace.thread(trainer).process).threads) {
    if (id == trainer) continue;
    const bool makes = std::find(makers.begin(), makers.end(), id) != makers.end();
    eachSlice(trace.thread(id), within.begin, within.end,
              [&](const auto& row, std::uint32_t count) {
                if (row.data.gil != Gil::kHolds) return;
                facts.lockBeside += count;
                if (makes) facts.lockProducers += count;
              });
  }
}

}  // namespace stallprof
