// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/facts/hook_parts.h"
#include "analysis/facts/usage.h"
#include "analysis/findings/overhead.h"
#include "analysis/verdict/rank.h"
#include "base/units.h"

namespace stallprof {
namespace {

class List {
 public:
  List(const std::vector<Finding>& findings, std::vector<std::string>& to)
      : findings_(findings), to_(to) {}
  void add(const char* unlessFound, std::string line) {
    const bool found = std::any_of(findings_.begin(), findings_.end(),
                                   [&](const Finding& f) { return f.id == unlessFound; });
    if (!found) to_.push_back(std::move(line));
  }

 private:
  const std::vector<Finding>& findings_;
  std::vector<std::string>& to_;
};

constexpr double kWorthSaying = 0.05;  // of the window, or of the usable cores

// What others used, and the job waited for, is a caveat.
bool othersWidened(const Evidence& e) {
  return e.contended && e.external - e.run.stealRatio.value_or(0) > kWorthSaying;
}

std::string othersUsed(const Evidence& e) {
  constexpr double kSame = 0.01;
  const double used = *e.run.externalCpuRatio;
  const double waited = e.external - e.run.stealRatio.value_or(0);
  const std::string cores =
      "Other programs used " + percentText(used) + " of the cores that this run may use";
  if (used <= waited + kSame) return cores + ": intervals are widened by this share.";
  return cores + ", of which its threads waited for " + percentText(waited) +
         ": intervals are widened by that.";
}

// Where they use much, why that is no problem.
std::string usedByOthers(const RunFacts& r) {
  constexpr double kMuch = 0.25;
  const std::string text = "other programs' CPU " + percentText(*r.externalCpuRatio);
  if (*r.externalCpuRatio <= kMuch) return text;
  return text + (r.queuedRatio ? " (the job waited for " +
                                     percentText(std::min(*r.queuedRatio, *r.externalCpuRatio)) +
                                     " of the cores)"
                               : " (cores were idle)");
}

// Work on another node of memory is a fact of the run; it is named here where it takes time, or
// where what it would slow takes time and nothing shows how much of that is the way.
void addNodes(const Evidence& e, const NumaUse& numa, std::vector<std::string>& lines) {
  constexpr double kMuchCpu = 0.25;  // of the CPU time
  const double workers = numa.workerRemoteRatio.value_or(0), load = e.ownLoad + e.loadBlame;
  const double trainer = numa.deviceRemoteRatio.value_or(0);
  const double copies = std::max(e.device.copies, e.device.blocking);
  const std::string compare =
      " takes of it is unknown; a run that is bound to one node (numactl --cpunodebind) shows it.";
  if (workers > kMuchCpu && numa.handoverCostRatio.value_or(0) > kWorthSaying)
    lines.push_back("Workers spent " + percentText(workers) +
                    " of their CPU time on another NUMA node than the trainer: receiving those "
                    "batches took " +
                    percentText(*numa.handoverCostRatio) +
                    " of the time more than batches from its own node.");
  else if (workers > kMuchCpu && !numa.handoverCostRatio && load > kWorthSaying)
    lines.push_back("Workers spent " + percentText(workers) +
                    " of their CPU time on another NUMA node than the trainer, and moving batches "
                    "takes " +
                    percentText(load) + " of the time. How much the link between the nodes" +
                    compare);
  if (trainer > kMuchCpu && copies > kWorthSaying)
    lines.push_back(
        "The trainer spent " + percentText(trainer) +
        " of its CPU time on another NUMA node than its device, and copies to it take " +
        percentText(copies) + " of the time. How much the link between the nodes" + compare);
}

// When the training process has no more memory, where it grows all the time.
std::string growthText(const Evidence& e) {
  if (e.trainer.steps.empty()) return "";  // what it keeps may be what it is for
  const double grows = e.trainer.growthPerSecond;
  const Maybe<double> left = secondsOfMemory(e, grows);
  if (!left) return "";
  return "The training process grows by " + rateText(grows, "bytes") +
         (e.perStep > 0 ? " (" + bytesText(grows * e.perStep) + " a step)" : "") +
         ": at this pace the " + bytesText(grows * *left) + " that are free last " +
         durationText(Nanos(static_cast<Nanos::rep>(*left * 1e9))) +
         ". Losses or outputs that are kept with their graphs grow so (keep loss.item() or "
         ".detach()), and caches until they are full.";
}

bool hasCpuLimit(const Trace& trace) {
  return std::any_of(trace.cgroups.begin(), trace.cgroups.end(),
                     [](const auto& row) { return row.data.cpuQuotaMilli > 0; });
}

}  // namespace

std::vector<std::string> notAProblem(const Evidence& e, const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  List list(findings, lines);
  const RunFacts& r = e.run;
  if (r.throttledRatio)
    list.add("host.cpu_throttled", "CPU throttling " + percentText(*r.throttledRatio));
  if (r.externalCpuRatio && !othersWidened(e)) list.add("host.noisy_neighbour", usedByOthers(r));
  const bool killed = killedForMemory(e.trace) > 0;
  if (r.memoryPressureRatio && !killed)
    list.add("host.memory_pressure", "memory pressure " + percentText(*r.memoryPressureRatio));
  if (r.swapPagesPerSecond)
    list.add("host.memory_pressure", "swap " + numberText(*r.swapPagesPerSecond) + " pages/s");
  if (const auto room = r.memoryRoom(); room && !killed && memoryShort(e) == MemoryShort::kNo)
    list.add("load.worker_memory", "memory headroom " + bytesText(static_cast<double>(*room)) +
                                       (r.limitedMemory() ? " of the container's limit" : ""));
  if (r.shmFree)
    list.add("load.worker_memory",
             "/dev/shm headroom " + bytesText(static_cast<double>(*r.shmFree)));
  if (e.device.gauge && e.device.gauge->throttledRatio)
    list.add("host.gpu_throttled",
             "GPU throttling " + percentText(*e.device.gauge->throttledRatio));
  if (e.device.timeline && e.device.pageable + e.device.pinned > 0)
    list.add("load.pageable_copy",
             "copies to the device " + percentText(e.device.copies) + " exposed");
  if (e.device.timeline && e.device.idleLaunch <= 0.05)
    list.add("compute.launch_bound", "launch gaps " + percentText(e.device.idleLaunch));
  if (e.trainer.steps.empty()) return lines;
  if (e.periodic <= 0.05)
    list.add("periodic.checkpoint", "checkpoints " + percentText(e.checkpoint));
  if (e.loader && e.workers() > 0)
    list.add("load.worker_startup", "worker start-up " + percentText(e.startup));
  if (e.loader && e.extract + e.unknownWait <= 0.05 && e.wait > 0.05)
    list.add("", "waiting for storage " + percentText(e.extract));
  if (e.loader && e.wait <= 0.05) list.add("", "waiting for data " + percentText(e.wait));
  return lines;
}

std::vector<std::string> caveats(const Evidence& e, const std::vector<Finding>& findings) {
  constexpr double kBusyBeside = 0.25;
  std::vector<std::string> lines;
  List list(findings, lines);
  const RunFacts& r = e.run;
  const std::string queued =
      e.contended ? " They compete for cores: the trainer was runnable without one " +
                        percentText(e.starved) + " of the time."
                  : " Cores were idle at that time.";
  const double stolen = r.stealRatio.value_or(0);
  if (const std::string grows = growthText(e); !grows.empty())
    list.add("host.memory_pressure", grows);
  if (othersWidened(e)) list.add("host.noisy_neighbour", othersUsed(e));
  if (stolen > kWorthSaying)
    list.add("host.noisy_neighbour",
             "The hypervisor took " + percentText(stolen) +
                 " of the CPUs that this run may use (steal)" +
                 (e.contended ? ": intervals are widened by this share." : "."));
  if (r.siblings > 0)
    lines.push_back(countOf(r.siblings, "other recording") + " of this job on this host used " +
                    percentText(r.siblingCpuRatio.value_or(0)) +
                    " of the cores that this run may use." +
                    (r.siblingCpuRatio.value_or(0) > kWorthSaying ? queued : ""));
  if (r.besideBusyRatio.value_or(0) > kBusyBeside)
    lines.push_back("Other programs kept the second hardware threads of these cores busy " +
                    percentText(*r.besideBusyRatio) +
                    " of the time. Each core is slower during that time.");
  if (e.unseen > kWorthSaying)
    lines.push_back("The recorder did not run, or could not write, for " + percentText(e.unseen) +
                    " of the time. Samples cover only the rest.");
  if (e.missesWork())
    lines.push_back("The training thread ran, or was ready to run, " + percentText(e.ranByClock) +
                    " of the time, by its samples " + percentText(e.ranBySamples) +
                    ": they miss short work between waits, and few say what it is.");
  if (r.coresRange)
    lines.push_back("The cores that this run may use changed between " +
                    numberText(r.coresRange->first) + " and " + numberText(r.coresRange->second) +
                    " while it ran; figures use the mean, " + numberText(r.cores) + ".");
  if (r.numa) addNodes(e, *r.numa, lines);
  return lines;
}

std::vector<std::string> notMeasured(const Evidence& e) {
  std::vector<std::string> lines;
  const auto missing = [&](bool absent, const char* what) {
    if (absent) lines.emplace_back(what);
  };
  missing(!e.run.externalCpuRatio,
          e.run.jobCpuRatio ? "other programs' CPU" : "CPU use, of this and of other programs");
  missing(!e.run.throttledRatio && hasCpuLimit(e.trace), "CPU throttling");
  missing(!e.run.cacheHitRatio, "page-cache hits");
  missing(!e.run.opensPerSecond,
          "file opens (--counters counts them, as root or with CAP_PERFMON)");
  missing(!e.run.memoryPressureRatio, "memory pressure (PSI)");
  if (e.computeCeilingHoldsData())
    lines.emplace_back("the compute ceiling (the loop makes data in its steps)");
  else if (stepWaitsForLocks(e) && !e.ceilings.empty())
    lines.emplace_back("the compute ceiling (the step waits for a lock)");
  for (const Ceiling& c : e.misfits)
    lines.push_back("the " + c.stage + " ceiling (the model does not fit: it would be " +
                    percentText(-c.gapRatio) + " below the measured pace)");
  missing(e.loader && e.gains.workload().batches.empty(),
          "the making of batches (the hook did not detect the producers)");
  if (!e.gains.fits() && !e.gains.workload().batches.empty())
    lines.push_back("predicted gains (the model misses the measured step time by " +
                    percentText(e.gains.gap()) + ")");
  missing(!e.loader && e.trainer.loader < 0 && !e.trainer.steps.empty() &&
              e.wait + e.ownLoad <= 0 && !missingParts(e.trace, e.trainer).fetches &&
              e.trainer.split.annotated == Nanos{},
          "data loading (no loader was detected: it is part of compute and other)");
  missing(!e.loader && e.trainer.loader >= 0,
          "activity of its threads during waits for data (only PyTorch's loader is instrumented)");
  missing(e.device.seen && !e.device.timeline,
          "busy times of the device: its work may hide waits, so confidence is at most medium");
  constexpr double kWorthSlowing = 1.05;
  if (e.device.estimated)
    lines.push_back(
        "device work outside of the " + percentText(seconds(e.trainer.device.traced) / e.window) +
        " of the window in which kernels were traced: shares are estimated from those" +
        (e.device.slowdown > kWorthSlowing
             ? ", in which a step took " + numberText(e.device.slowdown) + " times as long"
             : ""));
  missing(e.loader, "stall ratio (`stallprof verify` measures it: data always ready)");
  return lines;
}

}  // namespace stallprof
