// SPDX-License-Identifier: MIT
// load.*: what lies between a finished batch and the step that uses it, and the workers' lives.
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kStartupShare = 0.02;             // of the window: the design's table
constexpr double kFewBatches = 4, kVaries = 0.10;  // P x W and CV: the design's table
constexpr double kSomeWait = 0.02;       // an empty queue that costs nothing is no finding
constexpr double kNotableGrowth = 64e6;  // bytes: below it is allocator noise
constexpr double kSoon = 24 * 3600;      // seconds: a training of a day would meet it
constexpr double kHeadroomGone = 0.10;   // of a limit

// Shares of the window in plain steps: a pass's end and begin, where workers end, start and have no
// index yet, are not transport.
struct Transport {
  double own = 0, blamed = 0;
};
Transport transportIn(const Evidence& e) {
  const TrainerFacts& t = e.trainer;
  Transport all;
  if (e.window > 0) {
    const Split& joined = t.joined.plainSplit;
    all.own = std::max(0.0, seconds(joined.load - joined.copy)) / e.window;
    all.blamed = std::max(0.0, seconds(t.joined.plainBlame.load)) / e.window;
  }
  for (std::size_t i = t.warmup; i < t.steps.size() && e.window > 0; ++i) {
    if (t.steps[i].boundary) continue;
    all.own += std::max(0.0, seconds(t.steps[i].split.load - t.steps[i].split.copy)) / e.window;
    all.blamed += std::max(0.0, seconds(t.steps[i].blame.load)) / e.window;
  }
  // A prefetch of one leaves the worker without an index after every batch.
  if (e.prefetch() < 2) all.blamed = 0;
  return all;
}

// What one batch's hand-over is made of, as shares of it. A batch of one tensor costs the same few
// hundred microseconds whether it has 16 KB or 8 MB (0.44 to 0.53 ms here: the queue's locks, the
// descriptor's passing, the mapping); copies on the way, as into pinned memory, cost at most 0.3 ns
// a byte (3 GB/s); what lies above both is Python objects, pickled one by one.
struct HandOver {
  double bytes = 0, objects = 0;
};
HandOver handOver(const Evidence& e, double share) {
  constexpr double kFixed = 0.45e-3, kPerByte = 0.3e-9;
  const double load = share * e.perStep;
  if (load <= 0) return {};
  const double above = std::max(0.0, load - kFixed);
  const double bytes =
      std::min(above + kFixed, std::max(0.0, e.gains.workload().batchBytes) * kPerByte);
  return {bytes / load, std::max(0.0, above - bytes) / load};
}

Advice uint8Batches(const Evidence& e, const HandOver& part) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  // A quarter of the bytes; the rate is an upper bound, so half of it is likely and none possible.
  likely.loadScale = 1 - 0.375 * part.bytes, most.loadScale = 1 - 0.75 * part.bytes;
  return adviceOf("uint8_batches", {"code", "dtype", "float32", "uint8"},
                  e.gains.predict(likely, least, most),
                  "normalise on the device after the copy; only for data that fits in bytes");
}

Advice tensorsOnce(const Evidence& e, const HandOver& part) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.loadScale = 1 - 0.7 * part.objects, least.loadScale = 1 - 0.2 * part.objects,
  most.loadScale = 1 - std::max(0.9 * part.objects, 0.2);
  return adviceOf("tensors_once", {"code", "collate_fn", "many objects", "one tensor a field"},
                  e.gains.predict(likely, least, most),
                  "none: Python objects are pickled one by one, a tensor goes as one handle");
}

double startupShare(const Evidence& e) {
  const Workload& w = e.gains.workload();
  const double modelled =
      w.stepsPerPass > 0 && e.perStep > 0 ? w.startup / w.stepsPerPass / e.perStep : 0;
  return std::max(e.startup, modelled);
}

// Seconds until the workers' growth has used up what is left; below 0: they do not grow.
double exhaustedIn(const Evidence& e, double& growth) {
  growth = 0;
  bool grows = false;
  for (const WorkerFacts& w : e.trainer.workers) {
    if (w.firstResident < 0 || w.lastResident < 0) continue;
    const auto more = static_cast<double>(w.lastResident - w.firstResident);
    growth += std::max(0.0, more);
    grows = grows || more > 0.1 * static_cast<double>(w.firstResident);
  }
  double room = -1;
  for (const auto& r : {e.run.memoryAvailable, e.run.cgroupHeadroom})
    if (r) room = room < 0 ? static_cast<double>(*r) : std::min(room, static_cast<double>(*r));
  if (!grows || growth < kNotableGrowth || room < 0 || e.window <= 0) return -1;
  return room / (growth / e.window);
}

bool shmShort(const Evidence& e) {
  if (!e.run.shmFree || !e.run.shmPeak) return false;
  const auto left = static_cast<double>(*e.run.shmFree);
  const double all = left + static_cast<double>(*e.run.shmPeak);
  return all > 0 && *e.run.shmPeak > 0 && left < kHeadroomGone * all;
}

}  // namespace

Maybe<Finding> ipc(const Evidence& e) {
  const auto [own, blamed] = transportIn(e);
  const double share = own + blamed;
  if (e.workers() < 1 || share <= kNotable) return {};
  Finding f = findingOf(e, "load.ipc", Phase::kLoad, share,
                        "Moving batches between processes takes its own time");
  tell(f, "the training process spends " + percent(own) + " receiving and unpickling", own,
       "ratio");
  tell(f, "waits " + percent(blamed) + " for batches that are made but not yet there", blamed,
       "ratio");
  if (const double bytes = e.gains.workload().batchBytes; bytes > 0)
    tell(f, byteSize(bytes) + " a batch", bytes, "bytes");
  const HandOver part = handOver(e, share);
  offer(f, uint8Batches(e, part));
  offer(f, tensorsOnce(e, part));
  return f;
}

Maybe<Finding> noPrefetch(const Evidence& e) {
  if (e.workers() < 1 || e.steadyWait() <= kSomeWait) return {};
  const double cv = e.gains.demand().batchCv;
  const bool few = e.prefetch() * e.workers() < kFewBatches && cv > kVaries;
  if (e.prefetch() != 1 && !few) return {};
  auto more = morePrefetch(e);
  if (!more) return {};
  Finding f = findingOf(e, "load.no_prefetch", Phase::kLoad, e.steadyWait(),
                        "Too few batches are made ahead to ride out a slow one");
  tell(f,
       std::to_string(e.prefetch() * e.workers()) + " batches ahead at most (prefetch_factor " +
           std::to_string(e.prefetch()) + ", " + countOf(e.workers(), "worker") + ")",
       e.prefetch() * e.workers(), "count");
  tell(f, "batch times vary by " + percent(cv), cv, "ratio");
  tell(f, "waits " + percent(e.steadyWait()) + " of the time", e.steadyWait(), "ratio");
  offer(f, std::move(*more));
  return f;
}

Maybe<Finding> workerStartup(const Evidence& e) {
  const Workload& w = e.gains.workload();
  const double share = startupShare(e);
  if (e.workers() < 1 || e.gains.base().persistent || share <= kStartupShare) return {};
  Finding f = findingOf(e, "load.worker_startup", Phase::kLoad, share,
                        "Workers are started anew for every pass");
  tell(f, "starting workers takes " + percent(share) + " of the time", share, "ratio");
  if (w.stepsPerPass > 0)
    tell(f, duration(w.startup) + " a pass of " + number(w.stepsPerPass) + " steps",
         w.startup * 1e9, "ns");
  PipelineSettings s = e.gains.base();
  s.persistent = true;
  offer(f, adviceOf("persistent_workers", {"loader_arg", "persistent_workers", "False", "True"},
                    e.gains.predict(s),
                    "the workers' memory stays in use between passes; changes made to the "
                    "dataset object between passes no longer reach them"));
  return f;
}

Maybe<Finding> workerMemory(const Evidence& e) {
  if (e.workers() < 1) return {};
  double growth = 0;
  const double left = exhaustedIn(e, growth);
  const bool grows = left >= 0 && left < kSoon;
  if (!grows && !shmShort(e)) return {};
  Finding f = findingOf(e, "load.worker_memory", Phase::kLoad, 0,
                        grows ? "The workers' memory grows until the host has none left"
                              : "/dev/shm is nearly full: workers will die with a bus error");
  if (grows) {
    tell(f, "grew by " + byteSize(growth) + " in " + duration(e.window), growth, "bytes");
    tell(f, "at this pace memory is used up in " + number(left / 60) + " minutes", left * 1e9,
         "ns");
    offer(f, adviceOf("plain_arrays", {"code", "dataset", "Python objects", "one array"}, {},
                      "none: a list of Python objects is copied page by page as it is read"));
  }
  if (shmShort(e)) {
    tell(f, byteSize(static_cast<double>(*e.run.shmFree)) + " of /dev/shm left at its fullest",
         static_cast<double>(*e.run.shmFree), "bytes");
    offer(f, adviceOf("more_shared_memory", {"env", "/dev/shm", "", "larger"}, {},
                      "containers: --shm-size; it is memory that is really used"));
  }
  f.confidence = Confidence::kMedium;  // a straight line through two points
  return f;
}

}  // namespace stallprof
