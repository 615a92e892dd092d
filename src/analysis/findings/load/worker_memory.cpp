// SPDX-License-Identifier: MIT
// load.worker_memory: the workers' memory, or /dev/shm, is on the way to full.
#include <algorithm>

#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr double kNotableGrowth = 64e6;  // bytes: below it is allocator noise
constexpr double kSoon = 24 * 3600;      // seconds: a training of a day would meet it
constexpr double kHeadroomGone = 0.10;   // of a limit

const AdviceDefinition kPlainArrays{
    "plain_arrays",
    "Hold the data set's index in one numpy array or torch tensor instead of Python lists "
    "and dicts: reading an object writes its reference count and copies its page."};

const AdviceDefinition kMoreSharedMemory{
    "more_shared_memory",
    "Give the container more shared memory (docker run --shm-size=8g; an emptyDir of "
    "medium Memory on /dev/shm), or lower num_workers x prefetch_factor x batch size."};

struct WorkerGrowth {
  double bytes = 0;         // in the window
  double secondsLeft = -1;  // until it has used up what is left; below 0: they do not grow
};

WorkerGrowth workerGrowth(const Evidence& e) {
  WorkerGrowth growth;
  bool grows = false;
  for (const WorkerFacts& w : e.trainer.workers) {
    if (w.firstResident < 0 || w.lastResident < 0) continue;
    const auto more = static_cast<double>(w.lastResident - w.firstResident);
    growth.bytes += std::max(0.0, more);
    grows = grows || more > 0.1 * static_cast<double>(w.firstResident);
  }
  double room = -1;
  for (const auto& r : {e.run.memoryAvailable, e.run.cgroupHeadroom})
    if (r) room = room < 0 ? static_cast<double>(*r) : std::min(room, static_cast<double>(*r));
  if (grows && growth.bytes >= kNotableGrowth && room >= 0 && e.window > 0)
    growth.secondsLeft = room / (growth.bytes / e.window);
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
  const WorkerGrowth growth = workerGrowth(e);
  const bool grows = growth.secondsLeft >= 0 && growth.secondsLeft < kSoon;
  if (!grows && !shmShort(e)) return {};
  Finding f = loaderFinding(e, 0,
                            grows ? "The workers' memory grows until the host has none left"
                                  : "/dev/shm is nearly full: workers will die with a bus error");
  if (grows) {
    addEvidence(f, "grew by {} in {}", {bytesWord(growth.bytes), timeWord(e.window)});
    addEvidence(f, "at this pace memory is used up in {} minutes",
                {numberWord(growth.secondsLeft / 60)}, timeWord(growth.secondsLeft));
    offer(f, adviceOf(kPlainArrays, {"code", "dataset", "Python objects", "one array"}, {},
                      "none: a list of Python objects is copied page by page as it is read"));
  }
  if (shmShort(e)) {
    addEvidence(f, "{} of /dev/shm left at its fullest",
                {bytesWord(static_cast<double>(*e.run.shmFree))});
    offer(f, adviceOf(kMoreSharedMemory, {"env", "/dev/shm", "", "larger"}, {},
                      "containers: --shm-size; it is memory that is really used"));
  }
  f.confidence = Confidence::kMedium;  // a straight line through two points
  return f;
}

}  // namespace

extern const FindingDefinition kWorkerMemory(
    "load.worker_memory", workerMemory, offers(kPlainArrays, kMoreSharedMemory),
    {.cause =
         R"(The workers' memory, or /dev/shm, is on the way to full: the run would be killed or die
  with a bus error.)",
     .rule = R"(workers grew by over 10 % and 64 MB, and at that pace memory is used up
  within a day; or under 10 % of /dev/shm was left.)",
     .fixes =
         R"(- Keep the index in one array instead of Python objects (each read copies its page).
- Fewer workers, smaller prefetch_factor.
- More shared memory for the container (--shm-size).)",
     .wrong = R"(growth levels off, as caches and allocators do: two points make a
  straight line. Watch a longer run.)"});

}  // namespace stallprof
