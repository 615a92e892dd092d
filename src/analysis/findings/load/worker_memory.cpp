// SPDX-License-Identifier: MIT
// load.worker_memory: the workers' memory, or /dev/shm, is on the way to full.
#include <algorithm>

#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr double kStays = 2.0 / 3;      // of the window; of workers of each epoch none does
constexpr double kHeadroomGone = 0.10;  // of a limit

const AdviceDefinition kPlainArrays{
    "plain_arrays",
    "Find the data that each worker keeps from sample to sample: each worker fills its own copy of "
    "a cache in the data set. Limit it, or keep the data in one numpy array or torch tensor that "
    "is created before the workers start. The workers then share it."};

const AdviceDefinition kMoreSharedMemory{
    "more_shared_memory",
    "Give the container more shared memory (docker run --shm-size=8g; an emptyDir of "
    "medium Memory on /dev/shm), or lower num_workers x prefetch_factor x batch size."};

// Memory of workers that are started for every epoch is free again when they end.
bool stays(const Evidence& e, const WorkerFacts& worker) {
  const ProcessLife& life = e.trace.process(worker.process);
  const Nanos lived =
      std::min(life.gone, e.trainer.windowEnd) - std::max(life.seen, e.trainer.windowBegin);
  return seconds(lived) > kStays * e.window;
}

// Bytes a second, all workers together.
double workerGrowth(const Evidence& e) {
  double growth = 0;
  for (const WorkerFacts& w : e.trainer.workers)
    if (w.growthPerSecond > 0 && stays(e, w)) growth += w.growthPerSecond;
  return growth;
}

bool shmShort(const Evidence& e) {
  if (!e.run.shmFree || !e.run.shmPeak) return false;
  const auto left = static_cast<double>(*e.run.shmFree);
  const double all = left + static_cast<double>(*e.run.shmPeak);
  return all > 0 && *e.run.shmPeak > 0 && left < kHeadroomGone * all;
}

Maybe<Finding> workerMemory(const Evidence& e) {
  if (e.workers() < 1) return {};
  const double growth = workerGrowth(e);
  const Maybe<double> grows = secondsOfMemory(e, growth);
  if (!grows && !shmShort(e)) return {};
  Finding f = loaderFinding(e, 0,
                            grows ? "The workers' memory grows until the host has no free memory"
                                  : "/dev/shm is nearly full: workers will die with a bus error");
  if (grows) {
    addEvidence(f, "their private memory grows by {} per minute, for all workers together",
                {bytesWord(growth * 60)});
    addEvidence(f, "at this rate memory is used up in {} minutes", {numberWord(*grows / 60)},
                timeWord(*grows));
    offer(f, adviceOf(kPlainArrays, {"code", "dataset", "Python objects", "one array"}, {},
                      "none, if the kept data is not needed again"));
  }
  if (shmShort(e)) {
    addEvidence(f, "minimum free space of /dev/shm: {}",
                {bytesWord(static_cast<double>(*e.run.shmFree))});
    offer(f, adviceOf(kMoreSharedMemory, {"env", "/dev/shm", "", "larger"}, {},
                      "containers: --shm-size; this memory is actually used"));
  }
  f.confidence = Confidence::kMedium;  // a straight line, far beyond what was seen
  return f;
}

}  // namespace

extern const FindingDefinition kWorkerMemory(
    "load.worker_memory", workerMemory, offers(kPlainArrays, kMoreSharedMemory),
    {.cause =
         R"(The workers' memory, or /dev/shm, is about to run out. The run would then be killed or end
  with a bus error.)",
     .rule =
         R"(the private memory of workers (resident memory without files and shared memory) grows
  steadily after the first third of their lifetime. The median of the next thirds rises, in the last
  at half the rate or more. It grows by over 64 MB in the window, and at that rate memory is used up
  within a day. Only workers that live for two thirds of the window count, because the memory of
  workers of one epoch is freed when they end. Or under 10 % of /dev/shm was free.)",
     .fixes =
         R"(- Limit what a worker keeps (caches in the data set, growing lists), or share one array.
- Fewer workers, smaller prefetch_factor.
- More shared memory for the container (--shm-size).)",
     .wrong = R"(growth ends later, as with a cache that becomes full: record a longer run. Pages
  of the parent that are copied when workers write to them (reference counts of Python objects) are
  resident from the start. Such growth is not detected.)"});

}  // namespace stallprof
