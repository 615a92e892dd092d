// SPDX-License-Identifier: MIT
#include "analysis/findings/ahead.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/findings/build.h"
#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

// Of what could be hidden behind the step: likely, and where little comes of it.
constexpr double kLikelyHidden = 0.8, kLittleHidden = 0.1;

// Of the present step: what the same work takes with all cores busy all the time. Likely beside
// what others took from it; at longest beside all that others use; at shortest with these gone and
// without the loops in which a pool of threads spins.
struct OnFullCores {
  double likely = 1, longest = 1, shortest = 1;
};

Maybe<OnFullCores> onFullCores(const Evidence& e) {
  if (!e.run.jobCpuRatio) return {};
  const double job = *e.run.jobCpuRatio;
  const Maybe<PoolUse>& pool = e.run.pool;
  const double spins = pool && pool->samples > 0 ? pool->spins / pool->samples : 0;
  return OnFullCores{std::min(1.0, job / coresLeft(1, e.external)), std::min(1.0, e.coresUsed),
                     std::min(1.0, job * (1 - spins))};
}

// On busy cores those who make data also slow the step down, and its wait, where it is small, says
// little of that.
bool slowsStep(const Evidence& e) {
  constexpr double kSmall = 0.25, kBusy = 0.75;
  return e.wait < kSmall && e.coresUsed > kBusy;
}

// From times of the changed step, as parts of the present one.
Prediction ofTimes(double likely, double longest, double shortest) {
  const auto gain = [](double time) { return 1 / std::clamp(time, 0.02, 1.0); };
  return {gain(likely), gain(longest), gain(shortest)};
}

// What the lock lets a thread and the step do at a time, of the present step: what both hold it
// for. Few samples say nothing.
double inTurn(const Evidence& e, double share) {
  constexpr double kFew = 20;
  const StackFacts& s = e.trainer.stacks;
  if (s.lockOfData.samples < kFew || s.lockOfCompute.samples < kFew) return 0;
  return share * s.lockOfData.ratio() + (1 - share) * s.lockOfCompute.ratio();
}

}  // namespace

Prediction madeBeside(const Evidence& e, double share, Beside who) {
  const Maybe<OnFullCores> full = onFullCores(e);
  if (!full) return {};
  const bool process = who == Beside::kProcess;
  const double turns = process ? 0 : inTurn(e, share);
  const auto time = [&](double cpu, double handoff, double sending, double cores) {
    const double each = process && e.perStep > 0 ? 1 / e.perStep : 0;
    return std::min(1.0, std::max({1 - share + handoff * each,
                                   share * (process ? cpu : 1) + sending * each, turns, cores}));
  };
  const double likely = time(kWorkerCpu, kHandoffSeconds, kSwitchInterval / 2, full->likely),
               longest = time(kMaxWorkerCpu, kMaxHandoff, kSwitchInterval, full->longest);
  return assuming(
      std::string("one ") + (process ? "process" : "thread") +
          " makes them during the step, at best as many as the cores allow",
      ofTimes(1 - kLikelyHidden * (1 - likely), 1 - kLittleHidden * (1 - longest),
              std::max({1 - share + (process && e.perStep > 0 ? kMinHandoff / e.perStep : 0), turns,
                        full->shortest})));
}

Prediction moreAtOnce(const Evidence& e, double share, int times, const std::string& who) {
  const Maybe<OnFullCores> full = onFullCores(e);
  if (!full || slowsStep(e)) return {};
  const double step = 1 - share;
  const std::string as = times == 2 ? "twice" : std::to_string(times) + " times";
  return assuming(
      as + " as many " + who + " " + as + " as many batches, at best as many as the cores allow",
      ofTimes(std::max({step, full->likely, 1.0 / times}), std::max({step, full->longest, 0.9}),
              std::max(step, full->shortest)));
}

Prediction scaledAhead(const Evidence& e, double PipelineSettings::*cost, double likely,
                       double minimum, double maximum, std::string assumes) {
  const double share = cost == &PipelineSettings::ioScale    ? e.extract
                       : cost == &PipelineSettings::cpuScale ? e.transform
                                                             : 0;
  if (share <= kNotable || e.wait <= 0) return {};
  // By the training thread one after the other; by others beside the step, whose pace is theirs.
  const bool beside = !e.trainer.threads.empty();
  if (beside && slowsStep(e)) return {};
  const double part = beside ? std::min(1.0, share / e.wait) : share;
  const double step = beside ? std::max(0.0, 1 - e.wait - e.starved) : 0;
  const auto time = [&](double left) { return std::max(step, 1 - part * (1 - left)); };
  return assuming(std::move(assumes), ofTimes(time(likely), time(minimum), time(maximum)));
}

}  // namespace stallprof
