// SPDX-License-Identifier: MIT
// compute.contention: the workers run on the cores that the training step needs.

#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

constexpr double kNoWait = 0.05;
constexpr double kFewBusy = 0.2;  // of the workers' time: below it they do not hold the cores

Maybe<Finding> contention(const Evidence& e) {
  if (e.workers() < 1 || e.starved <= kNotable || e.steadyWait() > kNoWait) return {};
  if (e.workersBusy < kFewBusy) return {};
  Finding f = loaderFinding(e, e.starved, "The workers use cores that the training step needs");
  addEvidence(f, "runnable without a core {} of the time", {ratioWord(e.starved)});
  addEvidence(f, "waits for data only {} of the time", {ratioWord(e.wait)});
  const Demand& d = e.gains.demand();
  addEvidence(f, "a step needs {} of CPU time on {}",
              {timeWord(d.batchCpu + d.trainerCpu), numberWord(e.run.cores, "core")});
  return withAdvice(f, {cheaperBatches(e), moreCores(e), fewerWorkers(e)});
}

}  // namespace

extern const FindingDefinition kContention(
    "compute.contention", contention,
    offers(kOfflinePreprocess, kWholeBatches, kMoreCores, kRaiseCpuLimit, kFewerWorkers),
    within("host.cpu_throttled"),
    {.cause =
         R"(The trainer rarely waits for data, but still loses time: the workers use the cores that its
  step needs. The waiting time alone does not show this.)",
     .rule =
         R"(waiting is under 5 % of the window, the trainer is runnable without a core for over 5 %,
  and the workers are busy.)",
     .fixes = R"(- Make batches cheaper: offline preprocessing, faster decoding.
- Fewer workers, if the model predicts that the data still arrives in time.
- More cores.)",
     .wrong = R"(other programs use the cores (host.noisy_neighbour), or a CPU limit stops the job
  (host.cpu_throttled).)"});

}  // namespace stallprof
