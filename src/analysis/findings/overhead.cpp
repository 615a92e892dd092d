// SPDX-License-Identifier: MIT
#include "analysis/findings/overhead.h"

#include <algorithm>

#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr double kMainHolder = 0.5;  // of the time that other threads hold the lock

// Of the present step: what one takes, however little the trainer does in it itself. Its workers
// make a batch a step (utilization law: by so many workers none takes less than one's demand over
// their number), and a device's work, what it waits for others' data, copies and collectives, is
// not the trainer's. 0: nothing is known.
double stepOfOthers(const Evidence& e) {
  double maximum = 0;
  if (e.workers() > 0 && e.perStep > 0)
    maximum = e.gains.demand().batch.alone() / (e.workers() * e.perStep);
  if (e.device.timeline) maximum = std::max(maximum, e.device.busy + e.device.idleOfOthers);
  return std::min(1.0, maximum);
}

}  // namespace

Prediction reducedTo(double share, double likely, double minimum, double maximum, double minStep) {
  const auto speedup = [&](double left) { return 1 / std::max(minStep, 1 - share * (1 - left)); };
  return {speedup(likely), speedup(minimum), speedup(maximum)};
}

Prediction withoutOverhead(const Evidence& e, double share, double likely, double minimum,
                           double maximum, double minStep) {
  return reducedTo(share, likely, minimum, maximum, std::max(minStep, stepOfOthers(e)));
}

Prediction withoutHalf(const Evidence& e, double share) {
  return assuming("half of it, at most all of it, can be removed from the step",
                  withoutOverhead(e, share, 0.5, 0.9, 0));
}

Prediction reducedToTenth(const Evidence& e, double share, double minStep) {
  return assuming("a tenth of the time remains, at best a fiftieth",
                  withoutOverhead(e, share, 0.1, 0.5, 0.02, minStep));
}

Share shareOfOverhead(const Evidence& e, OverheadKind overhead) {
  // Samples are denser where the budget allows it: their weight in time counts, not their number.
  const StackFacts& s = e.trainer.stacks;
  const double time = s.overheads[static_cast<std::size_t>(overhead)];
  return shareOf(s.trainerTime > 0 ? time / s.trainerTime * s.trainer.samples : 0, s.trainer);
}

// The scheduler knows exactly how long the trainer's thread was blocked, and samples why: those of
// a thread that is blocked for less than a millisecond at a time miss half of it.
Share shareOfLock(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  const Share sampled = shareOf(s.ownLockWaits, s.trainer);
  if (!e.trainerBlockedKnown) return sampled;
  const bool ownFetches = e.loader && e.workers() == 0;  // no waiting for others
  const double blocked = std::max(0.0, e.trainerBlocked - (ownFetches ? 0 : e.wait) - e.periodic);
  const auto of = [&](double time) {
    const Share idle = shareOf(s.ownLockWaits, s.ownIdle);
    return Share{idle.value * time, idle.low * time, idle.high * time};
  };
  // A sample comes a little after the lock was got: no more than all blocked time.
  if (sampled.value > e.trainerBlocked) return of(e.trainerBlocked);
  const Share counted = of(blocked);
  return counted.value > sampled.value ? counted : sampled;
}

LockWait waitForLock(const Evidence& e) {
  if (e.device.seen || !e.trainerBlockedKnown || e.window <= 0) return {};
  const StackFacts& s = e.trainer.stacks;
  if (s.trainerTime <= 0 || e.trainer.processCpu <= Nanos{}) return {};
  return {shareOf(allOf(e, kBlockedInOwnLines) / s.trainerTime * s.trainer.samples, s.trainer),
          std::max(0.0, seconds(e.trainer.processCpu - e.trainer.cpu) / e.window)};
}

bool stepWaitsForLocks(const Evidence& e) {
  return waitForLock(e).low() > kNotable || (lockHeldByOthers(e) && shareOfLock(e).low > kNotable);
}

bool producersHoldLock(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  return !e.trainer.threads.empty() && s.lockProducers > kMainHolder * s.lockBeside &&
         shareOfLock(e).low > kNotable;
}

bool lockHeldByOthers(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  return s.lockOthers > 0 && s.lockOthers >= kMainHolder * s.lockBeside;
}

Finding overheadFinding(const Evidence& e, double share, std::string title) {
  Finding f = findingOf(e, share, std::move(title));
  f.confidence = e.trainer.windowSteps() < 100 ? Confidence::kMedium : Confidence::kHigh;
  if (!e.quietHost()) f.confidence = lowered(f.confidence);
  return f;
}

Maybe<Finding> sampledOverhead(const Evidence& e, OverheadKind overhead, double notable,
                               std::string title, std::string_view pattern) {
  const Share share = shareOfOverhead(e, overhead);
  if (share.low <= notable) return {};
  Finding f = overheadFinding(e, share.value, std::move(title));
  addEvidence(f, pattern, {ratioWord(share.value)});
  addIntervalEvidence(f, share, e.trainer.stacks.trainer.samples);
  if (share.high - share.value > share.value / 2) f.confidence = lowered(f.confidence);
  pointAtOverhead(f, e, overhead);
  return f;
}

void pointAtOverhead(Finding& f, const Evidence& e, OverheadKind overhead) {
  const auto line = hottest(e, {Side::kTrainer, {}, overhead, {}});
  if (!line) return;
  point(f, *line);
  addEvidence(f, "most of it is in {}", {textWord(nameOf(*line))});
  if (line->rule == kOwnEvaluation) f.confidence = std::min(f.confidence, Confidence::kMedium);
}

}  // namespace stallprof
