// SPDX-License-Identifier: MIT
#include "analysis/findings/fixes.h"

#include <algorithm>
#include <cmath>

#include "analysis/findings/ahead.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/loader_setting.h"
#include "base/units.h"
#include "classify/frames.h"

namespace stallprof {
namespace {

constexpr char kCpuset[] = "cpuset";  // of a host that has more CPUs

constexpr double kCopySeconds = RunFacts::kPageBytes / 10e9;  // of a page
constexpr double kFaultUnknown = 3;                           // bare metal is that much cheaper

// Seconds either side needs to touch a batch's bytes in fresh shared memory; `cheaper`: faults at
// that part of their cost. What the run measures is an upper bound.
double touching(const Evidence& e, double cheaper) {
  const double fault = e.run.faultSeconds.value_or(RunFacts::kFaultSeconds) / cheaper;
  return e.gains.workload().batchBytes / RunFacts::kPageBytes * (fault + kCopySeconds);
}

// `cpuScale` of a batch's CPU; page faults at the `cheaper`th part of their cost; `drawing`: share
// of the window in which indices are drawn, which no worker does for the trainer.
PipelineSettings firstWorkersWith(const Evidence& e, double cpuScale, double cheaper,
                                  double handoff, double firstSend, double drawing) {
  PipelineSettings s = e.gains.base();
  const double cpu = e.gains.demand().batch.cpu;
  const double kept = std::min(cpu, drawing * e.perStep);
  s.singleThreaded = true;  // PyTorch sets one thread in each worker
  s.persistent = true;
  s.sending = touching(e, cheaper);
  s.handoff = handoff + s.sending + kept;
  s.firstSend = firstSend;
  s.cpuScale = cpu > 0 ? cpuScale * (1 - kept / cpu) : cpuScale;
  return s;
}

std::string workersRisk(const Evidence& e, int more) {
  std::string risk = "+" + countOf(more, "process");
  // The gain holds only for a set that is divided, and a run with copies is not the same training:
  // with one worker, it need not be.
  if (e.workers() <= 1 && e.loader->iterable)
    risk =
        "an iterable data set: unless __iter__ divides it by get_worker_info(), each worker "
        "returns all of it; " +
        risk;
  else if (e.loader->iterable)
    risk = "workers without a shard of an iterable data set get no data, or end the run; " + risk;
  if (e.workerBytes > 0)
    risk += std::string(e.workerBytesMeasured ? ", about +" : ", at most about +") +
            bytesText(more * e.workerBytes) + " RSS";
  if (const auto room = e.run.memoryRoom())
    risk += "; " + bytesText(static_cast<double>(*room)) + " free" +
            (e.run.limitedMemory() ? " of the container's limit" : "");
  if (memoryShort(e) != MemoryShort::kNo) risk += "; the host is already short of memory";
  if (e.workers() == 0 && e.device.seen)
    risk += "; forked workers cannot read a data set with tensors on a device";
  if (e.workers() == 0)  // not known from this run; the interval spans it
    risk += "; the same Python code may take " + numberText(kMinWorkerCpu) + " to " +
            numberText(kMaxWorkerCpu) + " times the CPU in a worker";
  return risk;
}

// What each of several ranks has of `cores` where all of them ask for more.
double coresOfRank(const Evidence& e, double cores, double external) {
  return e.ranks > 1 ? coresLeft(cores, external) / e.ranks : cores;
}

// The cores that are left beside what other programs, siblings and the job outside of its pipeline
// use: they cost a run little while cores are idle, and give none of theirs up to more workers.
double coresBeside(const Evidence& e) {
  const RunFacts& r = e.run;
  return coresLeft(r.cores, r.externalCpuRatio.value_or(0) + r.stealRatio.value_or(0) +
                                r.siblingCpuRatio.value_or(0) + r.besideCpuRatio.value_or(0));
}

// Where a zipped loader holds steps up as long, workers gain what both gain by them; its work then
// takes more CPU, too. Null: it does not, or this is no better than `alone`.
Maybe<Advice> workersForBoth(const Evidence& e, PipelineSettings s, int limit,
                             const Prediction& alone) {
  const int now = e.workers();
  if (now < 1 || e.gains.workload().zipped <= 0 || !e.gains.fits()) return {};
  s.zippedScale = 0;
  s.workers = e.gains.bestWorkers(s, now, limit);
  if (s.workers <= now) return {};
  s.zippedScale = static_cast<double>(now) / s.workers;
  const double gain = e.gains.speedup(s);
  s.cores = std::max(0.25, s.cores - e.beside * e.run.cores * std::max(0.0, gain - 1));
  Prediction both = assuming("the loader that is zipped with it gets more workers in proportion",
                             e.gains.predictAssumed(s, s, s));
  if (both.speedup.value_or(1) < kWorthIt * alone.speedup.value_or(1)) return {};
  return adviceOf(kMoreWorkers,
                  {"loader_arg", "num_workers", std::to_string(now), std::to_string(s.workers)},
                  both,
                  "make the same change for the loader that is zipped with it; " +
                      workersRisk(e, s.workers - now));
}

// Where its cores are hardware threads, two of them do no more than this.
PipelineSettings withinCores(PipelineSettings s, const Evidence& e) {
  s.cores = std::min(s.cores, e.run.coresAsOne.value_or(s.cores));
  return s;
}

std::string moreWorkersText(const AdviceContext& c) {
  const auto& change = c.advice.change;
  if (change.from == "0")
    return "Set " + settingOf(c, "num_workers") + "=" + change.to + " and " +
           settingOf(c, "persistent_workers") + "=True" + atSetting(c) +
           ": batches are then made while the step computes, not between steps.";
  return "Raise " + settingOf(c, "num_workers") + " from " + change.from + " to " + change.to +
         atSetting(c) +
         (c.finding.phase == Phase::kExtract
              ? ": the workers are blocked, not computing, so more workers overlap more reads."
              : ": the current workers deliver batches too late, and there are cores for more.");
}

std::string cacheInRamText(const AdviceContext& c) {
  return c.advice.change.to == "tmpfs"
             ? "Copy the data set to a tmpfs and read it there, or hold it in the program's own "
               "memory: the page cache does not keep this data (O_DIRECT, or a full cache)."
             : "Keep the data set in memory: copy it to a tmpfs, or read it once before training "
               "(`cat FILES > /dev/null`) so that the page cache holds it.";
}

std::string moreCoresText(const AdviceContext& c) {
  const auto& change = c.advice.change;
  if (change.name == kCpuset)
    return "Run the job on " + change.to + " CPUs of this host (now " + change.from +
           ": its affinity or cpuset, taskset, a container's --cpuset-cpus or Slurm's "
           "--cpus-per-task excludes the others).";
  return "Run on a host with " + change.to + " cores (now " + change.from + ").";
}

std::string morePrefetchText(const AdviceContext& c) {
  return "Raise " + settingOf(c, "prefetch_factor") + " from " + c.advice.change.from + " to " +
         c.advice.change.to + atSetting(c) + ": more ready batches compensate for a slow one.";
}

// What makes batches in processes for the program's framework.
constexpr PerFramework kProcesses = {
    "PyTorch's DataLoader", "keras.utils.PyDataset with workers and use_multiprocessing=True",
    "Grain, or PyTorch's DataLoader", ""};

std::string loadAheadText(const AdviceContext& c) {
  return "Make batches ahead" + atLine(c.finding.where) +
         ": in a thread with a queue of a few batches" +
         (c.withoutPython() ? "" : ", or in processes (" + std::string(processesFor(c)) + ")") +
         ", so that the next batch is made during the current step. What is the same in each pass, "
         "make once.";
}

}  // namespace

extern const AdviceDefinition kLoadAhead{"load_ahead", {}, loadAheadText};
extern const AdviceDefinition kMoreWorkers{"more_workers", {}, moreWorkersText};
extern const AdviceDefinition kCacheInRam{"cache_in_ram", {}, cacheInRamText};
extern const AdviceDefinition kMoreCores{"more_cores", {}, moreCoresText};
extern const AdviceDefinition kRaiseCpuLimit{"raise_cpu_limit", {}, [](const AdviceContext& c) {
                                               return "Raise the container's CPU limit from " +
                                                      c.advice.change.from + " to " +
                                                      c.advice.change.to + " cores.";
                                             }};
extern const AdviceDefinition kMorePrefetch{"more_prefetch", {}, morePrefetchText};
extern const AdviceDefinition kSequentialShards{
    "sequential_shards",
    "Pack the samples into large files that are read from front to back (WebDataset, "
    "TFRecord, Arrow, LMDB), at 100 MB and more a shard."};
extern const AdviceDefinition kCopyFewerBytes =
    deviceAdvice("copy_fewer_bytes",
                 "Send batches to the device as uint8, or in half precision, and convert and "
                 "normalise them there. Only a quarter or half of the bytes is pinned and copied.");

PipelineSettings firstWorkers(const Evidence& e) {
  return firstWorkersWith(e, kWorkerCpu, 1, kHandoffSeconds, kSwitchInterval / 2, e.drawing.value);
}

Maybe<Advice> moreWorkers(const Evidence& e) {
  if (!e.loader) return std::nullopt;
  const int now = e.workers();
  const int limit = workerLimit(e);
  if (limit <= now) return std::nullopt;
  // Batches that keep all cores busy (a library's own threads make them) leave a worker none, and
  // no model says otherwise. Of cores that others keep busy a worker gets its part.
  if (now == 0 && !e.gains.fits() && coresFull(e) &&
      e.coresBusy < 2 * e.run.jobCpuRatio.value_or(1))
    return std::nullopt;
  PipelineSettings s = now == 0 ? firstWorkers(e) : e.gains.base();
  s.cores = std::min(s.cores, coresOfRank(e, e.run.cores, e.external));
  const int chosen = e.gains.fits() ? e.gains.bestWorkers(s, now + (now == 0), limit)
                                    : std::min(limit, std::max(1, 2 * now));
  if (chosen <= now) return workersForBoth(e, s, limit, {});
  s.workers = chosen;
  Prediction p = e.gains.predict(s);
  if (now > 0) {
    PipelineSettings minimum = withinCores(s, e);  // some of the cores are one
    minimum.cores = std::min(minimum.cores, coresBeside(e));
    if (minimum.cores < s.cores) p = e.gains.predict(s, minimum, s);
  }
  if (auto both = workersForBoth(e, s, limit, p)) return both;
  if (now == 0) {
    PipelineSettings minimum = firstWorkersWith(e, kMaxWorkerCpu, 1, kMaxHandoff, kSwitchInterval,
                                                e.drawing.high),
                     maximum = firstWorkersWith(e, kMinWorkerCpu, kFaultUnknown, kMinHandoff, 0,
                                                e.drawing.low);
    if (!e.run.faultSeconds) {
      minimum.sending *= kFaultUnknown;
      minimum.handoff += 2 * s.sending;
    }
    minimum.workers = maximum.workers = chosen;
    maximum.cores = s.cores;
    minimum.cores = std::min(withinCores(s, e).cores, coresBeside(e));
    p = e.gains.predict(s, minimum, maximum);
  }
  if (p.speedup && *p.speedup < kNoGain) return std::nullopt;
  if (now > 0 && e.loader->iterable) p = assuming("the data set has a shard for each worker", p);
  return adviceOf(kMoreWorkers,
                  {"loader_arg", "num_workers", std::to_string(now), std::to_string(chosen)}, p,
                  workersRisk(e, chosen - now));
}

Maybe<double> dataOfHost(const Evidence& e) {
  if (!e.run.datasetBytes || *e.run.datasetBytes <= 0) return {};
  const std::int64_t world = e.trace.manifest.numberIn("WORLD_SIZE").value_or(1);
  const auto parts = static_cast<double>(std::max<std::int64_t>(e.ranks, world));
  return static_cast<double>(*e.run.datasetBytes) * (e.run.filesSized ? 1 : parts);
}

Maybe<Advice> cacheInRam(const Evidence& e) {
  const Maybe<double> data = dataOfHost(e);
  if (!data || !e.run.memoryAvailable) return {};
  if (memoryShort(e) == MemoryShort::kSwaps) return {};
  const auto room = static_cast<double>(*e.run.memoryRoom());
  if (*data > 0.8 * room) return {};  // LRU thrashes when it does not fit with a fifth to spare
  PipelineSettings all = e.gains.base(), maximum = all;
  all.ioScale = 0;
  maximum.ioScale = 0.2;
  // Where the page cache does not keep what is read, only a copy the program reads from does.
  const char* where = e.run.pageCacheKeeps.value_or(true) ? "memory" : "tmpfs";
  return adviceOf(kCacheInRam, {"data", "dataset", "storage", where},
                  e.gains.predict(all, maximum, all),
                  bytesText(*data) + " of memory; " + bytesText(room) + " free");
}

// Packing small or scattered reads into sequential ones gained 1.4 to 9 times in PRESTO's tables.
Advice sequentialShards(const Evidence& e, double cpu) {
  const auto leaving = [&](double left) {
    PipelineSettings s = e.gains.base();
    s.ioScale = left;
    s.cpuScale = 1 - cpu * (1 - left);
    return s;
  };
  return adviceOf(
      kSequentialShards, {"data", "dataset", "files", "shards"},
      assuming("reading large pieces takes a quarter of the time, at best a ninth",
               e.gains.predictAssumed(leaving(1 / 4.0), leaving(1 / 1.4), leaving(1 / 9.0))),
      "a second copy of the data; shuffling is then by shard and buffer");
}

std::string_view processesFor(const AdviceContext& c) {
  const Framework framework = frameworkOf(c);
  const bool named = framework != Framework::kUnknown && framework != Framework::kOther;
  return named ? kProcesses.of(framework) : "a ProcessPoolExecutor";
}

Advice loadAhead(const Evidence& e, double share) {
  return adviceOf(kLoadAhead, {"code", "loading", "in the loop", "ahead"},
                  madeBeside(e, share, Beside::kThread),
                  e.trace.stacks.empty() ? "" : "a Python thread shares the GIL with the loop");
}

Advice copyFewerBytes(Prediction predicted) {
  return adviceOf(kCopyFewerBytes, {"code", "dtype", "float32", "uint8"}, std::move(predicted),
                  "normalise on the device after the copy; only for data that fits in bytes");
}

Maybe<Advice> moreCores(const Evidence& e) {
  constexpr double kCut = 0.01;  // of a core
  const double online = e.trace.manifest.host.coresOnline;
  // An older recording says nothing of the CPUs; what was throttled had a quota.
  const bool throttled = e.run.throttledRatio.value_or(0) > 0;
  const double allowed = e.run.coresAllowed.value_or(throttled ? online : e.run.cores);
  const bool quota = e.run.cores < allowed - kCut, cpuset = allowed < online - kCut;
  const double now = quota ? e.run.cores : std::max(1.0, std::floor(e.run.cores));
  const double then = std::min(2 * now, quota ? allowed : cpuset ? online : 2 * now);
  PipelineSettings s = e.gains.base();
  const double external = e.external * now / then;
  s.cores = std::min(coresForPipeline(e, then, external), coresOfRank(e, then, external));
  // More cores serve more workers: the fix is both.
  if (s.workers > 0)
    s.workers = e.gains.bestWorkers(
        s, s.workers,
        std::max(s.workers, std::min(static_cast<int>(std::min<double>(then, kMaxWorkers)),
                                     memoryWorkerLimit(e))));
  const std::string workers =
      s.workers > e.workers() ? ", with num_workers " + std::to_string(s.workers) : "";
  const Prediction p = quota || cpuset ? e.gains.predict(s)
                                       : assuming("cores of another host are as fast as these",
                                                  e.gains.predictAssumed(s, s, s));
  if (p.speedup && *p.speedup < kNoGain) return {};
  if (quota)
    return adviceOf(kRaiseCpuLimit, {"hardware", "cpu limit", numberText(now), numberText(then)}, p,
                    "other programs on the host get less" + workers);
  if (cpuset)
    return adviceOf(kMoreCores, {"hardware", kCpuset, numberText(now), numberText(then)}, p,
                    "other programs on the host get less" + workers);
  return adviceOf(kMoreCores, {"hardware", "cores", numberText(now), numberText(then)}, p,
                  "a larger host" + (workers.empty() ? workers : workers + " on it"));
}

Maybe<Advice> morePrefetch(const Evidence& e) {
  if (e.workers() < 1) return {};
  PipelineSettings s = e.gains.base();
  s.prefetch = std::max(4, 2 * e.prefetch());
  const double bytes = e.gains.workload().batchBytes * (s.prefetch - e.prefetch()) * e.workers();
  if (e.run.shmFree && bytes > 0.8 * static_cast<double>(*e.run.shmFree)) return {};
  const Prediction p = e.gains.predict(s);
  if (p.speedup && *p.speedup < kNoGain) return {};
  std::string risk = "more batches are queued";
  if (bytes > 0) risk += ": +" + bytesText(bytes) + " of shared memory";
  return adviceOf(
      kMorePrefetch,
      {"loader_arg", "prefetch_factor", std::to_string(e.prefetch()), std::to_string(s.prefetch)},
      p, risk);
}

}  // namespace stallprof
