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

constexpr double kFewLocked = 20;   // samples: fewer say too little
constexpr double kUnlocked = 0.15;  // of a step's computing: below, other threads have the lock

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

// A batch that takes less than a thread may keep the lock for is made at one go, once the step lets
// go of the lock; the step then stands still, whatever it could do without.
bool atOneGo(const Evidence& e, double share) {
  return e.perStep > 0 && share * e.perStep < kSwitchInterval &&
         e.trainer.stacks.lockOfCompute.ratio() > kUnlocked;
}

// What the lock lets a thread and the step do at a time, of the present step: what both hold it
// for. Few samples say nothing.
double inTurn(const Evidence& e, double share) {
  const StackFacts& s = e.trainer.stacks;
  if (s.lockOfData.samples < kFewLocked || s.lockOfCompute.samples < kFewLocked) return 0;
  const double step = atOneGo(e, share) ? 1 : s.lockOfCompute.ratio();
  return share * s.lockOfData.ratio() + (1 - share) * step;
}

}  // namespace

bool threadGains(const Evidence& e, double share) {
  // Of the time in which data are made. What is short is handed over as often as it lets go of the
  // lock: reports/accuracy.md has 0.80x by a thread at 0.69, in steps of 2.8 ms.
  constexpr double kLocked = 0.8, kLockedShort = 0.5;
  constexpr double kLongStep = 4 * kSwitchInterval;  // of computing
  const StackFacts& s = e.trainer.stacks;
  if (s.lockOfData.samples < kFewLocked ||
      s.lockOfData.ratio() < (atOneGo(e, share) ? kLockedShort : kLocked))
    return true;
  return s.lockOfCompute.ratio() < kUnlocked && e.compute * e.perStep > kLongStep;
}

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

Prediction madeMeanwhile(const Evidence& e, double share, double awaited) {
  const Maybe<OnFullCores> full = onFullCores(e);
  if (!full) return {};
  const auto time = [&](double cores) { return std::max(1 - std::min(share, awaited), cores); };
  return assuming("the next batch is made while they are computed, at best as the cores allow",
                  ofTimes(1 - kLikelyHidden * (1 - time(full->likely)),
                          1 - kLittleHidden * (1 - time(full->longest)), time(full->shortest)));
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

Prediction scaledAhead(const Evidence& e, double share, double likely, double minimum,
                       double maximum, std::string assumes) {
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
