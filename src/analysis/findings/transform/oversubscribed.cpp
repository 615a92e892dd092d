// SPDX-License-Identifier: MIT
// transform.oversubscribed: thread pools inside the workers ask for more cores than there are.
#include <algorithm>

#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kPool = 1.1;  // CPU of a worker over one thread's: above it a pool is at work

constexpr char kOpenMp[] = "OMP_NUM_THREADS", kOpenCv[] = "OPENCV_FOR_THREADS_NUM";

const AdviceDefinition kSingleThreadWorkers{
    "single_thread_workers", {}, [](const AdviceContext& c) -> std::string {
      if (c.advice.change.name == kOpenMp)
        return "Use one thread per worker: OMP_NUM_THREADS=1 in the environment, or "
               "cv2.setNumThreads(0) and torch.set_num_threads(1) in worker_init_fn.";
      return "Use one thread per worker. OMP_NUM_THREADS is already 1, so the threads belong to a "
             "pool that does not read it. For OpenCV: cv2.setNumThreads(0) in worker_init_fn, or "
             "OPENCV_FOR_THREADS_NUM=1 in the environment.";
    }};

int largestPool(const Evidence& e) {
  int threads = 1;
  for (const WorkerFacts& w : e.trainer.workers) threads = std::max(threads, w.threads);
  return threads;
}

// One thread does the work of all, without what spins. Without samples of the workers what their
// pools burn is not known: none of it, half, or all beyond one thread's.
Maybe<Advice> singleThread(const Evidence& e) {
  PipelineSettings minimum = e.gains.base();
  minimum.singleThreaded = true;
  PipelineSettings likely = minimum, maximum = minimum;
  const double minScale = 1 / std::max(1.0, e.gains.demand().batch.pool);
  const Maybe<Share>& spins = e.run.workerSpins;
  minimum.cpuScale = spins ? 1 - spins->low : 1;
  likely.cpuScale = std::max(minScale, spins ? 1 - spins->value : (minScale + 1) / 2);
  maximum.cpuScale = std::max(minScale, spins ? 1 - spins->high : 0);
  const Prediction gain = e.gains.predictAssumed(likely, minimum, maximum);
  if (gain.speedup && *gain.speedup < kNoGain) return {};
  return adviceOf(kSingleThreadWorkers,
                  {"env", e.trace.manifest.variable(kOpenMp) == "1" ? kOpenCv : kOpenMp, "", "1"},
                  assuming(spins ? "no thread spins then, and all other time is useful work"
                                 : "half of the CPU time of the pools, at most all beyond one "
                                   "thread's, is not useful work",
                           gain),
                  "it also limits the training process; if that process needs its threads, set it "
                  "in the worker instead (worker_init_fn, cv2.setNumThreads(0))");
}

Maybe<Finding> oversubscribed(const Evidence& e) {
  if (kGilBound.rule(e)) return {};  // threads that wait for one lock do not fight for cores
  const Demand& d = e.gains.demand();
  const int threads = largestPool(e);
  const double runnable = e.workers() * d.batch.pool +
                          std::min(1.0, e.compute + e.ownLoad) * e.gains.workload().trainerCpuRatio;
  if (e.workers() < 1 || threads <= 1 || d.batch.pool <= kPool || runnable <= e.run.cores)
    return {};
  if (std::max(e.transform, e.starved) <= kNotable) return {};
  if (e.run.workerSpins && e.run.workerSpins->value <= kNotable) return {};  // all of it is work
  Finding f = loaderFinding(e, std::max(e.transform, e.starved),
                            "Thread pools in the workers compete for CPU cores");
  f.confidence = lowered(f.confidence);
  addEvidence(f, "up to {} threads in a worker", {countWord(threads)});
  addEvidence(f, "a worker keeps {} busy while it makes a batch",
              {numberWord(d.batch.pool, "core")});
  addEvidence(
      f, "{} and the training process need {} of {} at once",
      {countWord(e.workers(), "worker"), numberWord(runnable), numberWord(e.run.cores, "core")},
      numberWord(runnable));
  if (e.run.workerSpins)
    addEvidence(f, "spin loops take {} of the workers' CPU", {ratioWord(e.run.workerSpins->value)});
  return withAdvice(f, {singleThread(e)});
}

}  // namespace

extern const FindingDefinition kOversubscribed(
    "transform.oversubscribed", oversubscribed, offers(kSingleThreadWorkers),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(Each worker runs a thread pool (OpenMP, BLAS, OpenCV) as large as the host. Together they have
  far more runnable threads than cores, and the threads wait for each other.)",
     .rule =
         R"(workers run several threads and use over 1.1 cores each while they make a batch. Workers
  and trainer together need more cores than there are. Over 5 % of the window is waiting or time
  without a core. If the kernel's samples cover the workers, over 5 % of their CPU is in spin loops.)",
     .fixes = R"(- cv2.setNumThreads(0) or torch.set_num_threads(1) in worker_init_fn.
- OMP_NUM_THREADS=1 (MKL_NUM_THREADS, NUMEXPR_NUM_THREADS): this limits the trainer, too.)",
     .wrong = R"(the pool does little work, and all of it is useful. Then one thread makes each
  batch slower, and there is no gain. Without native samples the CPU time of spin loops is not
  measured.)"});

}  // namespace stallprof
