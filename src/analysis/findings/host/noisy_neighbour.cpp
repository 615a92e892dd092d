// SPDX-License-Identifier: MIT
// host.noisy_neighbour: other programs use the CPU this run needs.
#include <algorithm>

#include "analysis/findings/build.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

// Of the usable cores. What is less widens intervals and is a caveat of the report: a program that
// is slowed by a tenth has another first problem than its neighbours.
constexpr double kExternal = 0.25;

const AdviceDefinition kQuietHost{"quiet_host",
                                  "Repeat the run on a dedicated host, or pin the job to unused "
                                  "cores (taskset, cpuset), before you rely on these numbers."};

// Of the window: the trainer was runnable without a core while others had it, by their part of what
// the other threads of the job and they used. On many cores one thread's waiting is little of them,
// and all of the step. Where cores lie idle it is bound to some, by the job itself.
double takenFromTrainer(const Evidence& e) {
  const double others = e.run.externalCpuRatio.value_or(0);
  if (!e.trainerBlockedKnown || others <= 0 || e.coresUsed < kFewIdle) return 0;
  const double trainer = (1 - e.trainerBlocked - e.starved) / e.run.cores;
  const double beside =
      std::max(0.0, e.run.jobCpuRatio.value_or(1) - trainer) + e.run.siblingCpuRatio.value_or(0);
  return e.starved * others / (others + beside);
}

// What the model says of more cores; where it is the trainer that waits for one, that the step is
// shorter by that.
Prediction onQuietHost(const Evidence& e, double taken) {
  if (taken > e.external)
    return assuming("the training thread always has a core when it needs one",
                    reducedTo(taken, 0, 0.2, 0));
  PipelineSettings s = e.gains.base();
  s.cores = coresForPipeline(e, e.run.cores, 0);
  Prediction quiet = e.gains.predict(s);
  if (quiet.low) quiet.low = std::max(1.0, *quiet.low);  // it takes nothing from the run
  if (quiet.low && quiet.speedup) quiet.speedup = std::max(*quiet.low, *quiet.speedup);
  return quiet;
}

Maybe<Finding> noisyNeighbour(const Evidence& e) {
  const double taken = takenFromTrainer(e);
  if (std::max(e.external, taken) <= kExternal) return {};
  Finding f =
      findingOf(e, std::max(e.external, taken), "Other programs use the CPU that this run needs");
  const double used = e.run.externalCpuRatio.value_or(0) + e.run.stealRatio.value_or(0);
  addEvidence(f, "other programs used {} of the usable cores", {ratioWord(std::min(1.0, used))});
  if (used > e.external + 0.01)
    addEvidence(f, "threads of the job waited for {} of them", {ratioWord(e.external)});
  if (e.run.stealRatio && *e.run.stealRatio > 0)
    addEvidence(f, "of these, the hypervisor {}", {ratioWord(*e.run.stealRatio)});
  if (e.starved > 0)
    addEvidence(f, "the trainer was runnable without a core {} of the time",
                {ratioWord(e.starved)});
  addEvidence(f, "intervals are widened by {}", {ratioWord(e.external)});
  return withAdvice(
      f, {adviceOf(kQuietHost, {"hardware", "host", "shared", "quiet"}, onQuietHost(e, taken))});
}

}  // namespace

extern const FindingDefinition kNoisyNeighbour(
    "host.noisy_neighbour", noisyNeighbour, offers(kQuietHost), kByOthers,
    {.cause = R"(Other programs use the CPU, so the duration of the same run varies.)",
     .rule =
         R"(other programs and the hypervisor used over 25 % of the job's cores, and the job lacked
  cores. Use by other programs counts only as far as the job's threads waited for a core. Cores are
  lacking if under a tenth was idle, or if the trainer was runnable without a core over 5 % of the
  time. It also fires if the trainer was runnable without a core over 25 % of the time with under a
  tenth idle, as far as other programs used the cores.
  Below 25 % it is a caveat. In both cases intervals widen by this share, and confidence drops from
  5 % on. The verdict is withheld only if the share exceeds the margin between the first two
  findings.)",
     .fixes = R"(- Repeat on a quiet host, or pin the job to its own cores.)",
     .wrong = R"(helper processes that were not recognized as part of the job count as others. So
  do ranks of the job that are not recorded.)"});

}  // namespace stallprof
