// SPDX-License-Identifier: MIT
// host.cpu_throttled: the container's CPU limit stops the job.
#include <algorithm>

#include "analysis/findings/build.h"
#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

constexpr double kThrottled = 0.02;  // of the time tasks could run; each period stops all threads

Maybe<Finding> cpuThrottled(const Evidence& e) {
  const double share = e.run.throttledRatio.value_or(0);
  if (share <= kThrottled) return {};
  Finding f = findingOf(e, share, "The container's CPU limit repeatedly stops the job");
  addEvidence(f, "throttled {} of the time in which its tasks could have run", {ratioWord(share)});
  addEvidence(f, "the limit leaves {}", {numberWord(e.run.cores, "core")});
  return withAdvice(f, {moreCores(e)});
}

}  // namespace

extern const FindingDefinition kCpuThrottled(
    "host.cpu_throttled", cpuThrottled, offers(kRaiseCpuLimit, kMoreCores),
    {.cause =
         R"(The container's CPU limit stops all threads of the job for the rest of each period once its
  quota is used.)",
     .rule = R"(throttled time is over 2 % of the time in which the group's tasks could have run
  (throttled time and CPU time, both summed over CPUs).)",
     .fixes = R"(- Raise the limit.
- Fewer workers and threads, so that bursts fit the quota.)",
     .wrong = R"(short bursts are throttled while the mean is below the limit. Then a longer period
  helps more than a larger quota.)"});

}  // namespace stallprof
