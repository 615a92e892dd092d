// SPDX-License-Identifier: MIT
// host.*: the machine, not the program. These say how far the other findings can be trusted, too.
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kSwapping = 10;     // pages a second: above it something hot is paged
constexpr double kThrottled = 0.02;  // of the window; each throttled period stops all threads
constexpr double kExternal = 0.05;   // the design's table

Finding hostFinding(const Evidence& e, const char* id, double share, std::string title) {
  Finding f = findingOf(e, id, Phase::kOther, share, std::move(title));
  return f;
}

}  // namespace

Maybe<Finding> memoryPressure(const Evidence& e) {
  const double psi = e.run.memoryPressureRatio.value_or(0);
  const double swap = e.run.swapPagesPerSecond.value_or(0);
  if (psi <= kNotable && swap <= kSwapping) return {};
  Finding f = hostFinding(e, "host.memory_pressure", psi, "The host is short of memory");
  f.confidence = lowered(f.confidence);
  if (e.run.memoryPressureRatio)
    tell(f, "something waited for memory " + percent(psi) + " of the time (PSI)", psi, "ratio");
  if (e.run.swapPagesPerSecond) tell(f, number(swap) + " swap pages a second", swap, "per_s");
  if (e.run.memoryAvailable)
    tell(f, byteSize(static_cast<double>(*e.run.memoryAvailable)) + " available",
         static_cast<double>(*e.run.memoryAvailable), "bytes");
  offer(f, adviceOf("free_memory", {"hardware", "memory", "", "more"}, {}));
  return f;
}

Maybe<Finding> cpuThrottled(const Evidence& e) {
  const double share = e.run.throttledRatio.value_or(0);
  if (share <= kThrottled) return {};
  Finding f = hostFinding(e, "host.cpu_throttled", share,
                          "The container's CPU limit stops the job again and again");
  tell(f, "throttled " + percent(share) + " of the time", share, "ratio");
  tell(f, "the limit leaves " + number(e.run.cores) + " cores", e.run.cores, "count");
  PipelineSettings s = e.gains.base();
  const double online = std::max<double>(e.run.cores, e.trace.manifest.host.coresOnline);
  s.cores = coresForPipeline(e, online, e.external);
  offer(f,
        adviceOf("raise_cpu_limit", {"hardware", "cpu limit", number(e.run.cores), number(online)},
                 online > e.run.cores ? e.gains.predict(s) : Prediction{},
                 "others on the host get less"));
  return f;
}

Maybe<Finding> noisyNeighbour(const Evidence& e) {
  if (e.external <= kExternal) return {};
  Finding f = hostFinding(e, "host.noisy_neighbour", e.external,
                          "Other programs use the CPU this run needs");
  tell(f, "others used " + percent(e.external) + " of the usable cores", e.external, "ratio");
  if (e.run.stealRatio && *e.run.stealRatio > 0)
    tell(f, "of which the hypervisor " + percent(*e.run.stealRatio), *e.run.stealRatio, "ratio");
  tell(f, "intervals are widened by as much");
  PipelineSettings s = e.gains.base();
  s.cores = coresForPipeline(e, e.run.cores, 0);
  offer(f, adviceOf("quiet_host", {"hardware", "host", "shared", "quiet"}, e.gains.predict(s)));
  return f;
}

}  // namespace stallprof
