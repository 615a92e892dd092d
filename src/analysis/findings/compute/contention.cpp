// SPDX-License-Identifier: MIT
// compute.contention: the workers run on the cores that the training step needs.

#include "analysis/findings/fixes.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kNoWait = 0.05;
constexpr double kFewBusy = 0.2;  // of the workers' time: below it they do not hold the cores

Finding starvedFinding(const Evidence& e, const std::string& who) {
  Finding f = loaderFinding(e, e.starved, who + " use cores that the training step needs");
  addEvidence(f, "runnable without a core {} of the time", {ratioWord(e.starved)});
  addEvidence(f, "waits for data only {} of the time", {ratioWord(e.wait)});
  return f;
}

// What they take from the step is not known: no gain is predicted.
Maybe<Finding> byThreads(const Evidence& e) {
  if (e.loader || !e.quietHost() || pythonOfThreads(e) < kFewBusy) return {};
  Finding f = starvedFinding(e, "Threads that make data");
  f.confidence = std::min(f.confidence, Confidence::kMedium);  // the threads are found by samples
  addEvidence(f, "making data keeps {} busy", {numberWord(pythonOfThreads(e), "core")});
  addThreadsEvidence(f, e);
  return withAdvice(f, {adviceOf(kOfflinePreprocess, {"data", "dataset", "raw", "preprocessed"}, {},
                                 "a second copy of the data, often larger")});
}

Maybe<Finding> contention(const Evidence& e) {
  if (e.starved <= kNotable || e.steadyWait() > kNoWait) return {};
  if (e.workers() < 1) return byThreads(e);
  if (e.workersBusy < kFewBusy) return {};
  Finding f = starvedFinding(e, "The workers");
  const Demand& d = e.gains.demand();
  addEvidence(f, "a step needs {} of CPU time on {}",
              {timeWord(d.batchCpu + d.trainerCpu), numberWord(e.run.cores, "core")});
  return withAdvice(f, {cheaperBatches(e), moreCores(e), fewerWorkers(e)});
}

}  // namespace

extern const FindingDefinition kContention(
    "compute.contention", contention,
    offers(kOfflinePreprocess, kReadOnce, kWholeBatches, kMoreCores, kRaiseCpuLimit, kFewerWorkers),
    within("host.cpu_throttled"),
    {.cause =
         R"(The trainer rarely waits for data, but still loses time: the workers use the cores that its
  step needs. The waiting time alone does not show this.)",
     .rule =
         R"(waiting is under 5 % of the window, the trainer is runnable without a core for over 5 %,
  and the workers are busy. With no known loader: threads that make data keep a fifth of a core
  busy, and other programs use under 5 % of the cores; then no gain is predicted.)",
     .fixes = R"(- Make batches cheaper: offline preprocessing, faster decoding.
- Fewer workers, if the model predicts that the data still arrives in time.
- More cores.)",
     .wrong = R"(other programs use the cores (host.noisy_neighbour), or a CPU limit stops the job
  (host.cpu_throttled).)"});

}  // namespace stallprof
