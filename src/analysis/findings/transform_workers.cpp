// SPDX-License-Identifier: MIT
// transform.in_process, transform.too_few_workers, transform.cpu_saturated: is the making of
// batches arranged for the cores there are?
#include <algorithm>

#include "analysis/findings/hot.h"
#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

constexpr double kWorkersBusy = 0.70;  // in-order delivery idles busy workers to this (section 3.4)

void tellBatch(Finding& f, const Evidence& e) {
  const Demand& d = e.gains.demand();
  if (d.batch.alone() <= 0) return;
  tell(f,
       "making a batch takes " + duration(d.batch.alone()) + ", of which CPU " +
           duration(d.batchCpu),
       d.batch.alone() * 1e9, "ns");
}

void tellCores(Finding& f, const Evidence& e) {
  tell(f, "CPU in use: " + percent(e.coresBusy) + " of " + number(e.run.cores) + " usable cores",
       e.coresBusy, "ratio");
}

void tellWait(Finding& f, const Evidence& e) {
  tell(f,
       "waits " + duration(e.wait * e.perStep) + " of " + duration(e.perStep) + " a step for data",
       e.wait, "ratio");
}

// With no workers, cores can only be short if adding workers does not help.
bool coresShort(const Evidence& e) {
  if (!coresFull(e)) return false;
  if (e.workers() > 0) return true;
  const auto more = moreWorkers(e);
  return !more || more->predicted.speedup.value_or(1) < 1.05;
}

// No loader that the hook knows: the training thread's own stacks say that it makes its data, and
// no thread beside it does.
Maybe<Finding> inTrainer(const Evidence& e) {
  if (!e.trainer.withoutFetches() || !e.trainer.threads.empty() || e.wait <= kNotable) return {};
  Finding f = findingOf(e, "transform.in_process", Phase::kTransform, e.wait,
                        "Batches are made in the training process, between steps");
  tell(f, "the training thread itself reads and transforms: nothing is made ahead");
  tellWait(f, e);
  tellCores(f, e);
  const Phase most = e.transform >= e.extract ? Phase::kTransform : Phase::kExtract;
  if (const auto line = hottest(e, {Side::kTrainer, most, {}, HotQuery::Of::kAll})) {
    f.where = line->where;
    point(f, *line);
    tell(f, "most of it in " + nameOf(*line));
  }
  offer(f, adviceOf("load_ahead", {"code", "loading", "in the loop", "ahead"}, {},
                    e.trace.stacks.empty()
                        ? ""
                        : "a thread of Python shares the interpreter's lock with the loop"));
  return f;
}

}  // namespace

Maybe<Finding> inProcess(const Evidence& e) {
  if (!e.loader) return inTrainer(e);
  if (e.workers() > 0 || e.wait <= kNotable) return {};
  Finding f = findingOf(e, "transform.in_process", Phase::kTransform, e.wait,
                        "Batches are made in the training process, between steps");
  tell(f, "num_workers is 0: every fetch holds up the step", 0, "count");
  tellWait(f, e);
  tellBatch(f, e);
  tellCores(f, e);
  if (auto more = moreWorkers(e)) offer(f, std::move(*more));
  if (e.transform > kNotable) offer(f, offlinePreprocess(e));
  return f;
}

Maybe<Finding> tooFewWorkers(const Evidence& e) {
  if (e.workers() < 1 || e.transform <= kNotable || e.transform < kTied * e.extract) return {};
  if (coresFull(e)) return {};
  auto more = moreWorkers(e);
  if (!more) return {};
  // Workers that rest now and then (between passes) are still too few where the model says so.
  if (e.workersBusy < kWorkersBusy && more->predicted.speedup.value_or(1) < 1.05) return {};
  Finding f = findingOf(e, "transform.too_few_workers", Phase::kTransform, e.steadyWait(),
                        e.workersBusy < kWorkersBusy
                            ? "Too few workers: the step waits for them while cores are idle"
                            : "Too few workers: they are busy while cores are idle");
  tellWait(f, e);
  tell(f, countOf(e.workers(), "worker") + " busy " + percent(e.workersBusy) + " of the time",
       e.workersBusy, "ratio");
  tellBatch(f, e);
  tellCores(f, e);
  offer(f, std::move(*more));
  return f;
}

Maybe<Finding> cpuSaturated(const Evidence& e) {
  // On full cores the step starves as well as waits, and what it waits for, a sender or a reader,
  // may itself be without a core: the wait counts, whoever it is blamed on.
  const double pressed = e.workers() > 0 ? std::min(1.0, e.steadyWait() + e.starved) : 0;
  if (!e.loader || !coresShort(e)) return {};
  if (e.transform <= kNotable && (e.steadyWait() <= kNotable || e.workers() < 1)) return {};
  Finding f =
      findingOf(e, "transform.cpu_saturated", Phase::kTransform, std::max(e.transform, pressed),
                "Making batches needs more CPU than the host has");
  tellWait(f, e);
  if (e.starved > 0.01)
    tell(f, "the training step was runnable without a core " + percent(e.starved) + " of the time",
         e.starved, "ratio");
  tellCores(f, e);
  const Demand& d = e.gains.demand();
  tell(f,
       "a step asks for " + duration(d.batchCpu + d.trainerCpu) + " of CPU: batch " +
           duration(d.batchCpu) + ", training process " + duration(d.trainerCpu),
       (d.batchCpu + d.trainerCpu) * 1e9, "ns");
  tell(f, "more workers would share the same cores");
  offer(f, offlinePreprocess(e));
  offer(f, moreCores(e));
  return f;
}

}  // namespace stallprof
