// SPDX-License-Identifier: MIT
// host.cpu_throttled: the container's CPU limit stops the job.
#include <algorithm>

#include "analysis/facts/wording.h"
#include "analysis/findings/build.h"

namespace stallprof {
namespace {

constexpr double kThrottled = 0.02;  // of the time tasks could run; each period stops all threads

const AdviceDefinition kRaiseCpuLimit{
    "raise_cpu_limit", {}, [](const AdviceContext& c) {
      return "Raise the container's CPU limit from " + c.advice.change.from + " to " +
             c.advice.change.to +
             " cores, or lower num_workers and the thread counts to fit the limit.";
    }};

Maybe<Finding> cpuThrottled(const Evidence& e) {
  const double share = e.run.throttledRatio.value_or(0);
  if (share <= kThrottled) return {};
  Finding f = findingOf(e, share, "The container's CPU limit stops the job again and again");
  addEvidence(f, "throttled {} of the time in which its tasks could have run", {ratioWord(share)});
  addEvidence(f, "the limit leaves {} cores", {numberWord(e.run.cores)});
  PipelineSettings s = e.gains.base();
  const double online = std::max<double>(e.run.cores, e.trace.manifest.host.coresOnline);
  s.cores = coresForPipeline(e, online, e.external);
  return withAdvice(
      f, {adviceOf(kRaiseCpuLimit, {"hardware", "cpu limit", number(e.run.cores), number(online)},
                   online > e.run.cores ? e.gains.predict(s) : Prediction{},
                   "others on the host get less")});
}

}  // namespace

extern const FindingDefinition kCpuThrottled(
    "host.cpu_throttled", cpuThrottled, offers(kRaiseCpuLimit),
    {.cause =
         R"(The container's CPU limit stops all of the job's threads for the rest of each period
  once its quota is used.)",
     .rule = R"(throttled time is over 2 % of that in which the group's tasks could have run
  (throttled time and CPU time, both summed over CPUs).)",
     .fixes = R"(- Raise the limit.
- Fewer workers and threads, so that bursts fit the quota.)",
     .wrong = R"(short bursts are throttled while the mean is below the limit: then a
  longer period helps more than a larger quota.)"});

}  // namespace stallprof
