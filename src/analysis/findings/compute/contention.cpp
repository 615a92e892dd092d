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
  Finding f = loaderFinding(e, e.starved, "The workers take cores that the training step needs");
  addEvidence(f, "runnable without a core {} of the time", {ratioWord(e.starved)});
  addEvidence(f, "waits for data only {}", {ratioWord(e.wait)});
  const Demand& d = e.gains.demand();
  addEvidence(f, "a step asks for {} of CPU from {}",
              {timeWord(d.batchCpu + d.trainerCpu), numberWord(e.run.cores, "core")});
  return withAdvice(f, {cheaperBatches(e), moreCores(e), fewerWorkers(e)});
}

}  // namespace

extern const FindingDefinition kContention(
    "compute.contention", contention,
    offers(kOfflinePreprocess, kWholeBatches, kMoreCores, kRaiseCpuLimit, kFewerWorkers),
    within("host.cpu_throttled"),
    {.cause =
         R"(The trainer hardly waits for data, and yet loses time: the workers run on the cores that
  its step needs. Waiting alone does not show it.)",
     .rule = R"(waiting is under 5 % of the window, the trainer is runnable without a core
  for over 5 %, and the workers are busy.)",
     .fixes = R"(- Make batches cheaper: offline preprocessing, faster decoding.
- Fewer workers, where the model finds that the data still comes in time.
- More cores.)",
     .wrong = R"(others use the cores (host.noisy_neighbour), or a CPU limit stops the
  job (host.cpu_throttled).)"});

}  // namespace stallprof
