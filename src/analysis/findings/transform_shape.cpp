// SPDX-License-Identifier: MIT
// transform.oversubscribed and transform.stragglers: the shape of the work, not its amount.
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kPool = 1.1;         // CPU over one thread's: research 05 section 6, rule 6
constexpr double kVaries = 0.30;      // section 3.4: above it a closed form is 9 % off
constexpr double kFarFromMedian = 5;  // one batch in the queue that long empties it

int mostThreads(const Evidence& e) {
  int most = 1;
  for (const WorkerFacts& w : e.trainer.workers) most = std::max(most, w.threads);
  return most;
}

// Share of the window waited while later batches already lay ready.
double waitedBehindReady(const Evidence& e) {
  const TrainerFacts& t = e.trainer;
  double wait = seconds(t.joined.behindReady);
  for (std::size_t i = t.warmup; i < t.steps.size(); ++i)
    if (t.steps[i].ready > 0)
      wait += std::max(0.0, seconds(t.steps[i].split.wait - t.steps[i].blame.startup));
  return e.window > 0 ? wait / e.window : 0;
}

// What the pools burn beside useful work is not known: none of it, half, or all.
Advice singleThread(const Evidence& e) {
  PipelineSettings least = e.gains.base(), likely, most;
  least.singleThreaded = true;
  most = likely = least;
  const double pool = std::max(1.0, e.gains.demand().batch.pool);
  likely.cpuScale = (1 / pool + 1) / 2;
  most.cpuScale = 1 / pool;
  return adviceOf("single_thread_workers", {"env", "OMP_NUM_THREADS", "", "1"},
                  e.gains.predict(likely, least, most),
                  "it also limits the training process; set it in the worker instead "
                  "(worker_init_fn, cv2.setNumThreads(0)) where that one needs its threads");
}

}  // namespace

Maybe<Finding> oversubscribed(const Evidence& e) {
  if (gilBound(e)) return {};  // threads that wait for one lock do not fight for cores
  const Demand& d = e.gains.demand();
  const int threads = mostThreads(e);
  const double runnable = e.workers() * d.batch.pool +
                          std::min(1.0, e.compute + e.ownLoad) * e.gains.workload().trainerCpuRatio;
  if (e.workers() < 1 || threads <= 1 || d.batch.pool <= kPool || runnable <= e.run.cores)
    return {};
  if (std::max(e.transform, e.starved) <= kNotable) return {};
  Finding f =
      findingOf(e, "transform.oversubscribed", Phase::kTransform, std::max(e.transform, e.starved),
                "Thread pools inside the workers fight for the cores");
  f.confidence = lowered(f.confidence);
  tell(f, "up to " + std::to_string(threads) + " threads in a worker", threads, "count");
  tell(f, "a worker keeps " + number(d.batch.pool) + " cores busy while it makes a batch",
       d.batch.pool, "count");
  tell(f,
       countOf(e.workers(), "worker") + " and the training process ask for " + number(runnable) +
           " of " + number(e.run.cores) + " cores at once",
       runnable, "count");
  offer(f, singleThread(e));
  return f;
}

Maybe<Finding> stragglers(const Evidence& e) {
  const Demand& d = e.gains.demand();
  if (e.workers() < 2 || !e.gains.base().inOrder) return {};
  if (d.batchCv <= kVaries && d.batchMaxOverMedian <= kFarFromMedian) return {};
  const double behind = waitedBehindReady(e);
  if (behind <= kNotable) return {};
  Finding f = findingOf(e, "transform.stragglers", Phase::kTransform, behind,
                        "A slow batch holds up batches that are ready");
  tell(f, "waits " + percent(behind) + " of the time with later batches ready", behind, "ratio");
  tell(f, "batch times vary by " + percent(d.batchCv) + " (deviation over mean)", d.batchCv,
       "ratio");
  tell(f, "the slowest batch takes " + number(d.batchMaxOverMedian) + " times the median",
       d.batchMaxOverMedian, "ratio");
  if (auto a = outOfOrder(e)) offer(f, std::move(*a));
  if (auto a = morePrefetch(e)) offer(f, std::move(*a));
  return f;
}

}  // namespace stallprof
