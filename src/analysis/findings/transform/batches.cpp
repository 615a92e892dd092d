// SPDX-License-Identifier: MIT
#include "analysis/findings/transform/batches.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/blame/samples/producer_threads.h"
#include "analysis/findings/overhead.h"
#include "classify/own_rules.h"

namespace stallprof {

std::int64_t threadsOfOthers(const Evidence& e) {
  const auto& threads = e.trainer.threads;
  return std::count_if(threads.begin(), threads.end(), [&](ThreadId id) {
    return e.trace.thread(id).process != e.trainer.process;
  });
}

void addWaitEvidence(Finding& f, const Evidence& e) {
  if (e.perStep <= 0)
    return addEvidence(f, "makes or waits for data {} of the time", {ratioWord(e.wait)});
  addEvidence(f, "waits {} of {} per step for data",
              {timeWord(e.wait * e.perStep), timeWord(e.perStep)}, ratioWord(e.wait));
}

void addBatchEvidence(Finding& f, const Evidence& e) {
  const Demand& d = e.gains.demand();
  if (d.batch.alone() <= 0) return;
  if (d.batchCpu <= 0)  // an imported trace
    return addEvidence(f, "making a batch takes {}", {timeWord(d.batch.alone())});
  addEvidence(f,
              d.batchCpu > d.batch.alone()  // of several threads
                  ? "making a batch takes {}, and {} of CPU time"
                  : "making a batch takes {}, of which {} is CPU time",
              {timeWord(d.batch.alone()), timeWord(d.batchCpu)});
}

void addCoresEvidence(Finding& f, const Evidence& e) {
  if (!e.run.jobCpuRatio && (e.perStep <= 0 || e.coresUsed <= 0 || e.trace.host.empty()))
    return;  // neither measured nor known by demand
  if (e.coresUsed - e.coresBusy <= kNotable || !e.run.jobCpuRatio)
    return addEvidence(f, "CPU in use: {} of {}",
                       {ratioWord(e.coresUsed), numberWord(e.run.cores, "usable core")});
  // Of a lower priority, or nobody waited for them yet.
  addEvidence(f, "CPU in use: {} of {} by the job, {} by others that it does not wait for",
              {ratioWord(*e.run.jobCpuRatio), numberWord(e.run.cores, "usable core"),
               ratioWord(e.coresUsed - *e.run.jobCpuRatio)},
              ratioWord(e.coresUsed));
}

bool threadsFallBehind(const Evidence& e) {
  return !e.loader && !e.trainer.threads.empty() && e.transform > kNotable &&
         e.transform >= kTied * e.extract;
}

bool threadsLackCores(const Evidence& e) {
  constexpr double kStarved = 0.15;  // of the window: more than a woken thread waits for its turn
  constexpr double kOwn = 0.75;      // of the usable cores: below, others are who fills them
  if (!e.quietHost() && e.run.jobCpuRatio.value_or(1) < kOwn) return false;
  return coresFull(e) || e.starved > kStarved;
}

double pythonOfThreads(const Evidence& e) {
  double sum = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions)
    if (f.side == Side::kProducer && f.samples > 0) sum += f.seconds * f.running / f.samples;
  return e.window > 0 ? sum / e.window : 0;
}

bool pythonFallsBehind(const Evidence& e) {
  // Of the wait; of the time: nearer to one thread than to two.
  constexpr double kMainly = 0.5, kOne = 1.5;
  const double python = pythonOfThreads(e);
  return runsTensorFlow(e.trace, e.trainer.process) && threadsOfOthers(e) == 0 &&
         python > kMainly * e.transform && (python < kOne || lockBound(e));
}

Share lockWaits(const Evidence& e) {
  return shareOf(e.trainer.stacks.lockWaits, e.trainer.stacks.lockWanted);
}

bool lockBound(const Evidence& e) {
  // Two threads of pure Python wait half the time, n of them (n-1)/n; a pool that mostly works in C
  // waits a few percent.
  constexpr double kOftenWaiting = 0.25;
  const Share waits = lockWaits(e);
  if (e.trainer.stacks.lockThreads < 2 || waits.low <= kOftenWaiting) return false;
  if (waits.value * e.transform <= kNotable) return false;
  return e.workers() > 0 || !lockHeldByOthers(e);  // that is compute.gil_bound
}

void addThreadsEvidence(Finding& f, const Evidence& e) {
  const std::int64_t others = threadsOfOthers(e);
  const auto own = static_cast<std::int64_t>(e.trainer.threads.size()) - others;
  if (own > 0) addEvidence(f, "made by {} of the training process", {countWord(own, "thread")});
  if (others > 0)
    addEvidence(f, "made by {} of processes that the program starts",
                {countWord(others, "thread")});
  addCoresEvidence(f, e);
}

Finding threadsFinding(const Evidence& e, std::string title) {
  Finding f = loaderFinding(e, e.transform, std::move(title));
  f.confidence = std::min(f.confidence, Confidence::kMedium);  // the threads are found by samples
  addWaitEvidence(f, e);
  addThreadsEvidence(f, e);
  return f;
}

bool mostlyMade(const Evidence& e, Phase phase,
                const std::function<bool(const FunctionSamples&)>& is) {
  double all = 0, those = 0;
  for (const FunctionSamples& f : e.trainer.stacks.functions) {
    if (f.side != Side::kTrainer || f.phase != phase) continue;
    all += f.samples;
    if (is(f)) those += f.samples;
  }
  return those > 0 && 2 * those >= all;
}

bool inEnvironment(const Evidence& e, Phase phase) {
  const auto function = [&](const FunctionSamples& f) {
    const StackSeen& frame = e.trace.stack(f.user);
    return std::pair(frame.file, frame.function);
  };
  std::set<std::pair<StringId, StringId>> steps;
  for (const FunctionSamples& f : e.trainer.stacks.functions)
    if (f.rule == kEnvironment && !f.user.none()) steps.insert(function(f));
  return mostlyMade(e, phase, [&](const FunctionSamples& f) {
    return f.rule == kEnvironment || (!f.user.none() && steps.count(function(f)) > 0);
  });
}

}  // namespace stallprof
