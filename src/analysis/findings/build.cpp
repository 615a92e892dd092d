// SPDX-License-Identifier: MIT
// How findings and the fixes they share are put together.
#include <algorithm>
#include <cmath>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

// What receiving a batch from a worker costs the trainer: a few descriptors and an unpickle, about
// 0.3 ms for an image batch; and either side touches its bytes in fresh shared memory, page by
// page. What a page fault costs the run itself tells (RunFacts::faultSeconds): 3.4 us on the
// virtual machine where 4.7 MB cost a worker 4.4 ms (puppet --send-kb 4704 against 16), 3.8 us a
// page with its copy at 10 GB/s. Where the run does not tell, 3.4 us is taken, within a factor 3.
constexpr double kHandoffSeconds = 0.3e-3;
constexpr double kFaultSeconds = 3.4e-6, kPage = 4096, kCopySeconds = kPage / 10e9;
constexpr double kFaultUnknown = 3;  // bare metal is that much cheaper
// The same Python takes longer in a worker than it took in the trainer: its heap has not learnt the
// sizes of batches, so freed memory goes back to the kernel and is faulted in again. Measured 1.0
// (puppet) to 1.2 times (the demo classifier, 3,300 -> 7,700 page faults a batch).
constexpr double kWorkerCpu = 1.15, kWorkerCpuLeast = 1.0, kWorkerCpuMost = 1.3;
constexpr double kNoGain = 1.01;

// What a change asks of its reader: a loader's argument is tried in a minute, new hardware is not.
// A fix goes first by its gain weighed with that.
double easeOf(const std::string& kind) {
  if (kind == "loader_arg") return 1;
  if (kind == "env") return 0.9;
  if (kind == "code") return 0.8;
  return kind == "data" ? 0.6 : 0.5;
}

double worthOf(const Advice& a) {
  const double speedup = a.predicted.speedup.value_or(1);
  return speedup > 0 ? (1 - 1 / speedup) * easeOf(a.change.kind) : 0;
}

// Seconds either side needs to touch a batch's bytes in fresh shared memory; `cheaper`: faults at
// that part of their cost. What the run tells is the most they can cost.
double touching(const Evidence& e, double cheaper) {
  const double fault = e.run.faultSeconds.value_or(kFaultSeconds) / cheaper;
  return e.gains.workload().batchBytes / kPage * (fault + kCopySeconds);
}

// From no workers to some: what the model has to take from elsewhere than this run.
PipelineSettings firstWorkers(const Evidence& e, double cpuScale, double cheaper) {
  PipelineSettings s = e.gains.base();
  s.singleThreaded = true;  // PyTorch sets one thread in each worker
  s.persistent = true;
  s.sending = touching(e, cheaper);
  s.handoff = kHandoffSeconds + s.sending;
  s.cpuScale = cpuScale;
  return s;
}

std::string workersRisk(const Evidence& e, int more) {
  std::string risk = "+" + countOf(more, "process");
  if (more != 1) risk = "+" + std::to_string(more) + " processes";
  // The gain holds only for a set that is divided, and a run with copies is not the same training.
  if (e.workers() == 0 && e.loader->iterable)
    risk =
        "an iterable data set: unless __iter__ divides it by get_worker_info(), each worker gives "
        "all of it; " +
        risk;
  if (e.workerBytes > 0)
    risk += std::string(e.workerBytesMeasured ? ", about +" : ", at most about +") +
            byteSize(more * e.workerBytes) + " RSS";
  if (e.run.memoryAvailable)
    risk += "; " + byteSize(static_cast<double>(*e.run.memoryAvailable)) + " free";
  if (e.workers() == 0)  // what this run cannot tell, and the interval spans
    risk += "; the same Python may take " + number(kWorkerCpuLeast) + " to " +
            number(kWorkerCpuMost) + " times the CPU in a worker";
  return risk;
}

}  // namespace

Finding findingOf(const Evidence& e, const char* id, Phase phase, double share, std::string title) {
  Finding f;
  f.id = id;
  f.phase = phase;
  f.shareRatio = std::clamp(share, 0.0, 1.0);
  f.title = std::move(title);
  f.confidence = trustIn(e).level;
  if (phase == Phase::kExtract || phase == Phase::kTransform || phase == Phase::kLoad)
    f.where = e.loaderLine();
  return f;
}

void tell(Finding& to, std::string text, Maybe<double> value, const char* unit) {
  to.evidence.push_back({std::move(text), value, unit});
}

// Most worth trying first: that fix is the one the finding is ranked by.
void offer(Finding& to, Advice advice) {
  const auto before = std::find_if(to.advice.begin(), to.advice.end(),
                                   [&](const Advice& a) { return worthOf(a) < worthOf(advice); });
  to.advice.insert(before, std::move(advice));
}

Advice adviceOf(const char* id, Advice::Change change, Prediction predicted, std::string risk) {
  Advice a;
  a.id = id;
  a.change = std::move(change);
  a.predicted = predicted;
  a.risk = std::move(risk);
  return a;
}

Maybe<Advice> moreWorkers(const Evidence& e) {
  if (!e.loader) return std::nullopt;
  const int now = e.workers();
  const WorkerLimit limit = workerLimit(e);
  if (limit.workers <= now) return std::nullopt;
  PipelineSettings s = now == 0 ? firstWorkers(e, kWorkerCpu, 1) : e.gains.base();
  const int chosen = e.gains.fits() ? e.gains.bestWorkers(s, now + (now == 0), limit.workers)
                                    : std::min(limit.workers, std::max(1, 2 * now));
  if (chosen <= now) return std::nullopt;
  s.workers = chosen;
  Prediction p = e.gains.predict(s);
  if (now == 0) {
    PipelineSettings least = firstWorkers(e, kWorkerCpuMost, 1),
                     most = firstWorkers(e, kWorkerCpuLeast, kFaultUnknown);
    if (!e.run.faultSeconds) least.sending *= kFaultUnknown, least.handoff += 2 * s.sending;
    least.workers = most.workers = chosen;
    p = e.gains.predict(s, least, most);
  }
  if (p.speedup && *p.speedup < kNoGain) return std::nullopt;
  return adviceOf("more_workers",
                  {"loader_arg", "num_workers", std::to_string(now), std::to_string(chosen)}, p,
                  workersRisk(e, chosen - now));
}

Maybe<Advice> cacheInRam(const Evidence& e) {
  if (!e.run.datasetBytes || !e.run.memoryAvailable || *e.run.datasetBytes <= 0) return {};
  const auto data = static_cast<double>(*e.run.datasetBytes);
  double room = static_cast<double>(*e.run.memoryAvailable);
  if (e.run.cgroupHeadroom) room = std::min(room, static_cast<double>(*e.run.cgroupHeadroom));
  if (data > 0.8 * room) return {};  // LRU thrashes when it does not fit with a fifth to spare
  PipelineSettings all = e.gains.base(), most = all;
  all.ioScale = 0, most.ioScale = 0.2;
  // Where the page cache does not keep what is read, only a copy the program reads from does.
  const char* where = e.run.pageCacheKeeps.value_or(true) ? "memory" : "tmpfs";
  return adviceOf("cache_in_ram", {"data", "dataset", "storage", where},
                  e.gains.predict(all, most, all),
                  byteSize(data) + " of memory; " + byteSize(room) + " free");
}

// Packing small or scattered reads into sequential ones gained 1.4 to 9 times in PRESTO's tables.
Advice sequentialShards(const Evidence& e) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.ioScale = 1 / 4.0, least.ioScale = 1 / 1.4, most.ioScale = 1 / 9.0;
  return adviceOf("sequential_shards", {"data", "dataset", "files", "shards"},
                  e.gains.predict(likely, least, most),
                  "a second copy of the data; shuffling becomes by shard and buffer");
}

// How much of the CPU is before the first random operation is not known: half, within wide bounds.
Advice offlinePreprocess(const Evidence& e) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.cpuScale = 0.5, least.cpuScale = 0.9, most.cpuScale = 0.1;
  return adviceOf("offline_preprocess", {"data", "dataset", "raw", "preprocessed"},
                  e.gains.predict(likely, least, most),
                  "a second copy of the data, often larger; only steps without randomness move");
}

Advice moreCores(const Evidence& e) {
  const double now = std::max(1.0, std::floor(e.run.cores));
  PipelineSettings s = e.gains.base();
  s.cores = coresForPipeline(e, 2 * now, e.external / 2);
  // More cores serve more workers: the fix is both.
  if (s.workers > 0)
    s.workers = e.gains.bestWorkers(s, s.workers, std::max(s.workers, static_cast<int>(2 * now)));
  return adviceOf("more_cores", {"hardware", "cores", number(now), number(2 * now)},
                  e.gains.predict(s),
                  "a larger host, with num_workers " + std::to_string(s.workers) + " on it");
}

Maybe<Advice> morePrefetch(const Evidence& e) {
  if (e.workers() < 1) return {};
  PipelineSettings s = e.gains.base();
  s.prefetch = std::max(4, 2 * e.prefetch());
  const double bytes = e.gains.workload().batchBytes * (s.prefetch - e.prefetch()) * e.workers();
  if (e.run.shmFree && bytes > 0.8 * static_cast<double>(*e.run.shmFree)) return {};
  const Prediction p = e.gains.predict(s);
  if (p.speedup && *p.speedup < kNoGain) return {};
  std::string risk = "more batches lie ready";
  if (bytes > 0) risk += ": +" + byteSize(bytes) + " of shared memory";
  return adviceOf(
      "more_prefetch",
      {"loader_arg", "prefetch_factor", std::to_string(e.prefetch()), std::to_string(s.prefetch)},
      p, risk);
}

Maybe<Advice> outOfOrder(const Evidence& e) {
  if (e.workers() < 2 || !e.gains.base().inOrder) return {};
  PipelineSettings s = e.gains.base();
  s.inOrder = false;
  const Prediction p = e.gains.predict(s);
  if (p.speedup && *p.speedup < kNoGain) return {};
  return adviceOf("out_of_order", {"loader_arg", "in_order", "True", "False"}, p,
                  "needs PyTorch 2.6; batches come in another order from run to run");
}

}  // namespace stallprof
