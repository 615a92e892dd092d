// SPDX-License-Identifier: MIT
// The fix of fewer workers, down to none: where moving a batch between processes costs more than it
// takes to make it, or starting the workers more than they save.
#include <algorithm>

#include "analysis/findings/fixes.h"
#include "analysis/findings/loader_setting.h"
#include "base/units.h"

namespace stallprof {
namespace {

// What making a batch in the trainer's process saves beside its transport; of one program (a bigram
// model on batches of 32 and 512 rows; 0, 1, 2 and 4 workers, 2 cores; medians), so that gains
// which hold it are assumed ones.
// - The trainer's step outside next() takes less CPU: 0.13 to 0.24 ms, of steps of 0.14 and 1.5 ms
//   (it is not woken, its caches are its own, no thread of its sends indices).
// - The same Python takes less CPU than in a worker (kWorkerCpu).
constexpr double kStepSaved = 0.15e-3, kMaxStepSaved = 0.24e-3, kMaxStepShare = 0.5;

std::string fewerWorkersText(const AdviceContext& c, const char* whyNone) {
  const auto& change = c.advice.change;
  if (change.to != "0")
    return "Lower " + settingOf(c, "num_workers") + " from " + change.from + " to " + change.to +
           atSetting(c) +
           ": the data still arrives in time, and the cost of the other workers is saved.";
  const bool more =
      c.loader && (c.loader->persistent || c.loader->prefetch != Maybe<std::int32_t>(2));
  return "Set " + settingOf(c, "num_workers") + "=0" + atSetting(c) +
         (more ? " (and no persistent_workers, no prefetch_factor)" : "") + whyNone;
}

// Of the workers' CPU in fetches, what puts batches into shared memory: in the trainer's process
// there is none of that. By samples; 0 where they are too few.
double sharingShare(const Evidence& e) {
  const PhaseSamples& running = e.trainer.stacks.makingRunning;
  return running.all.samples >= kEnoughWorkerSamples ? running.ratio(Phase::kLoad) : 0;
}

// No workers: each batch is made where it is used, and neither sent nor received.
PipelineSettings withoutWorkers(const Evidence& e, double workerCpu, double stepSaved) {
  const double own = e.gains.demand().step.own;
  PipelineSettings s = e.gains.base();
  s.workers = 0;
  s.loadScale = 0;
  s.handoff = e.drawing.value * e.perStep;  // samplers run in the trainer either way
  s.cpuScale = (workerCpu > kMinWorkerCpu ? 1 - sharingShare(e) : 1) / workerCpu;
  s.ownScale = own > 0 ? 1 - std::min(kMaxStepShare, stepSaved / own) : 1;
  // The senders' CPU goes with the workers.
  s.cores = coresLeft(e.run.cores, e.external + e.run.siblingCpuRatio.value_or(0));
  return s;
}

// Where the model does not explain the waits, the reason has to be seen: moving a batch takes the
// trainer as long as a worker's CPU takes to make it, or longer.
bool sendingIsMore(const Evidence& e) {
  return (e.ownLoad + e.loadBlame) * e.perStep >= e.gains.demand().batchCpu;
}

// Worth it by what the run itself shows, transport alone: what was measured elsewhere only makes it
// larger. Where the model misses what holds up the pipeline (waits for batches on their way),
// nothing of that is left with no workers.
Prediction withoutAny(const Evidence& e) {
  PipelineSettings minimum = withoutWorkers(e, kMinWorkerCpu, 0);
  // A batch is pinned by the trainer itself, then.
  if (e.loader->pinMemory) minimum.loadScale = 1;
  const PipelineSettings likely = withoutWorkers(e, kWorkerCpu, kStepSaved),
                         maximum = withoutWorkers(e, kMaxWorkerCpu, kMaxStepSaved);
  const bool fits = e.gains.fits();
  if (!fits && (e.gains.gap() < 0 || !sendingIsMore(e))) return {};
  const Prediction lowest = fits ? e.gains.predict(minimum) : e.gains.predictMeasured(minimum);
  if (!lowest.speedup || *lowest.speedup < kWorthIt) return {};
  Prediction p =
      fits ? e.gains.predictAssumed(likely, minimum, maximum) : e.gains.predictMeasured(likely);
  if (!fits) {
    p.low = lowest.low;
    p.high = e.gains.predictMeasured(maximum).high;
  }
  return assuming("without workers a batch takes " + numberText(kMaxWorkerCpu) +
                      " times less CPU to make, and the rest of a step 0.24 ms less",
                  p);
}

// Workers are started one after another.
PipelineSettings withOther(const Evidence& e, int workers) {
  PipelineSettings s = e.gains.base();
  s.workers = workers;
  s.startup = e.gains.workload().startup * workers / e.workers();
  return s;
}

}  // namespace

extern const AdviceDefinition kFewerWorkers{
    "fewer_workers", {}, [](const AdviceContext& c) {
      return fewerWorkersText(c, ": making a batch takes less time than sending it from a worker.");
    }};
extern const AdviceDefinition kFewerStarts{
    "fewer_workers", {}, [](const AdviceContext& c) {
      return fewerWorkersText(c, ": starting the workers takes longer than they save.");
    }};

PipelineSettings likelyWith(const Evidence& e, int workers) {
  if (workers == e.workers()) return e.gains.base();
  if (workers == 0) return withoutWorkers(e, kWorkerCpu, kStepSaved);
  if (e.workers() > 0) return withOther(e, workers);
  PipelineSettings s = firstWorkers(e);
  s.workers = workers;
  return s;
}

Maybe<Advice> fewerWorkers(const Evidence& e, const AdviceDefinition& definition) {
  if (!e.loader || e.workers() < 1) return {};
  int best = 0;
  Prediction p = withoutAny(e);
  for (int workers = 1; workers < e.workers(); workers = std::max(workers + 1, workers * 5 / 4)) {
    const Prediction fewer = e.gains.predict(withOther(e, workers));
    if (!fewer.speedup || (p.speedup && *fewer.speedup <= *p.speedup * kNoGain)) continue;
    p = fewer;
    best = workers;
  }
  if (!p.speedup || *p.speedup < kWorthIt) return {};
  return adviceOf(
      definition, {"loader_arg", "num_workers", std::to_string(e.workers()), std::to_string(best)},
      p,
      best > 0
          ? "none: memory is freed"
          : "each batch delays the step: if batches become more expensive, workers help again");
}

}  // namespace stallprof
