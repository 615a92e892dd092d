// SPDX-License-Identifier: MIT
// compute.cpu_bound (the healthy answer) and compute.contention.
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kLittleWait = 0.05;
constexpr double kBlocked = 0.15;  // as much as may stay unexplained (the design's verdict)

// Blocked beside data and periodic work: asleep, or waiting for what nobody names. A device's work
// is such a wait, and told of elsewhere.
double blockedBeside(const Evidence& e) {
  if (!e.trainerBlockedKnown || e.device.seen) return 0;
  return std::max(0.0, e.trainerBlocked - e.wait - e.periodic);
}

// This answer rests on the trainer's own time, not on the loader's model.
Confidence sure(const Evidence& e) {
  Confidence c = Confidence::kHigh;
  if (e.trainer.windowSteps() < 100) c = lowered(c);
  if (e.external > 0.05) c = lowered(c);
  if (e.compute + e.periodic < 0.8) c = lowered(c);
  // Without a loader, making data and waiting for it are inside the step and look like it.
  if (!e.loader) c = e.trainerBlocked > kBlocked ? Confidence::kLow : lowered(c);
  if (blockedBeside(e) > kBlocked) c = Confidence::kLow;
  return c;
}

// Fewer workers leave cores to the trainer, where the model finds that this pays.
Maybe<Advice> fewerWorkers(const Evidence& e) {
  PipelineSettings s = e.gains.base();
  const int best = e.gains.bestWorkers(s, 1, e.workers());
  if (best >= e.workers()) return {};
  s.workers = best;
  const Prediction p = e.gains.predict(s);
  if (!p.speedup || *p.speedup < 1.02) return {};
  return adviceOf("fewer_workers",
                  {"loader_arg", "num_workers", std::to_string(e.workers()), std::to_string(best)},
                  p, "none: memory is freed");
}

}  // namespace

Finding cpuBound(const Evidence& e) {
  Finding f = findingOf(e, "compute.cpu_bound", Phase::kCompute, e.compute,
                        "The training step itself sets the pace");
  f.confidence = sure(e);
  tell(f, "computes " + duration(e.compute * e.perStep) + " of " + duration(e.perStep) + " a step",
       e.compute, "ratio");
  if (e.loader)
    tell(f, "waits for data " + percent(e.wait) + " of the time", e.wait, "ratio");
  else if (e.trainerBlockedKnown && e.trainerBlocked <= kLittleWait)
    tell(f,
         "no loader was seen; the thread was blocked " + percent(e.trainerBlocked) + " of the time",
         e.trainerBlocked, "ratio");
  else if (e.trainerBlockedKnown)
    tell(f,
         "no loader was seen: the " + percent(e.trainerBlocked) +
             " of the time that the thread was blocked may be a wait for data or a device",
         e.trainerBlocked, "ratio");
  if (const double blocked = blockedBeside(e); e.loader && blocked > kBlocked)
    tell(f,
         "its thread does not work " + percent(blocked) +
             " of the time beside that: asleep, or waiting for a lock or another process",
         blocked, "ratio");
  if (e.device.timeline)
    tell(f, "the device is busy " + percent(e.device.busy) + " of the time", e.device.busy,
         "ratio");
  const double busy = e.gains.workload().trainerCpuRatio;
  if (e.trainer.processCpu > Nanos{})
    tell(f,
         "the training process keeps " + number(busy) + (number(busy) == "1" ? " core" : " cores") +
             " busy while it computes",
         busy, "count");
  // Without a loader a blocked thread is the first thing to look at; one that works has no wait.
  const bool works = !e.loader && e.trainerBlockedKnown && e.trainerBlocked <= kLittleWait;
  offer(f, adviceOf("faster_compute", {"code", "model", "", works ? "its own work" : ""}, {}));
  return f;
}

Maybe<Finding> contention(const Evidence& e) {
  if (e.workers() < 1 || e.starved <= kNotable || e.steadyWait() > kLittleWait) return {};
  if (e.workersBusy < 0.2) return {};  // then it is not the workers that hold the cores
  Finding f = findingOf(e, "compute.contention", Phase::kCompute, e.starved,
                        "The workers take cores that the training step needs");
  f.where = e.loaderLine();
  tell(f, "runnable without a core " + percent(e.starved) + " of the time", e.starved, "ratio");
  tell(f, "waits for data only " + percent(e.wait), e.wait, "ratio");
  const Demand& d = e.gains.demand();
  tell(f,
       "a step asks for " + duration(d.batchCpu + d.trainerCpu) + " of CPU from " +
           number(e.run.cores) + " cores",
       (d.batchCpu + d.trainerCpu) * 1e9, "ns");
  offer(f, offlinePreprocess(e));
  offer(f, moreCores(e));
  if (auto fewer = fewerWorkers(e)) offer(f, std::move(*fewer));
  return f;
}

}  // namespace stallprof
