// SPDX-License-Identifier: MIT
// periodic.logging, periodic.gc and periodic.evaluation: what comes back every so many steps and
// holds up the training meanwhile.
#include <algorithm>

#include "analysis/findings/hot.h"
#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kGcNotable = 0.01;  // the design's table: over ranks the stops add up

// The time is the trainer's own, so what leaves it shortens the run by as much.
Prediction without(double share, double likely, double least, double most) {
  const auto speedup = [&](double left) { return 1 / (1 - share * (1 - left)); };
  return {speedup(likely), speedup(least), speedup(most)};
}

Share shareOfChore(const Evidence& e, Chore chore) {
  // Looks come faster where the budget allows it: the time they stand for counts, not how many.
  const StackFacts& s = e.trainer.stacks;
  const double time = s.chores[static_cast<std::size_t>(chore)];
  return shareOf(s.trainerTime > 0 ? time / s.trainerTime * s.trainer.looks : 0, s.trainer);
}

Finding choreFinding(const Evidence& e, const char* id, double share, const char* title) {
  Finding f = findingOf(e, id, Phase::kPeriodic, share, title);
  f.confidence = e.trainer.windowSteps() < 100 ? Confidence::kMedium : Confidence::kHigh;
  return f;
}

void tellLooks(Finding& f, const Evidence& e, const Share& share) {
  tellInterval(f, share, e.trainer.stacks.trainer.looks);
  if (share.high - share.value > share.value / 2) f.confidence = lowered(f.confidence);
}

void pointAt(Finding& f, const Evidence& e, Chore chore) {
  const auto line = hottest(e, {Side::kTrainer, {}, chore, {}});
  if (!line) return;
  point(f, *line);
  tell(f, "most of it in " + nameOf(*line));
}

}  // namespace

Maybe<Finding> logging(const Evidence& e) {
  const Share share = shareOfChore(e, Chore::kLogging);
  if (share.low <= kNotable) return {};
  Finding f = choreFinding(e, "periodic.logging", share.value, "Logging holds up the steps");
  tell(f, "the training thread logs " + percent(share.value) + " of the time", share.value,
       "ratio");
  tellLooks(f, e, share);
  pointAt(f, e, Chore::kLogging);
  // One in ten of the calls is left; how they are spread is not known.
  offer(f, adviceOf("rarer_logging", {"code", "log_interval", "1", "10"},
                    without(share.value, 0.1, 0.5, 0.02), "coarser curves"));
  return f;
}

Maybe<Finding> garbageCollection(const Evidence& e) {
  const Share share = shareOfChore(e, Chore::kGc);
  if (share.low <= kGcNotable) return {};
  Finding f =
      choreFinding(e, "periodic.gc", share.value, "Python's garbage collector stops the training");
  tell(f, "collecting on the training thread " + percent(share.value) + " of the time", share.value,
       "ratio");
  tellLooks(f, e, share);
  pointAt(f, e, Chore::kGc);
  // What is alive since setup is most of what a collection walks.
  offer(f, adviceOf("gc_freeze", {"code", "gc", "automatic", "frozen"},
                    without(share.value, 0.2, 0.6, 0.02),
                    "objects in cycles made before gc.freeze() are never freed"));
  return f;
}

// By passes that the hook saw; by what a library calls evaluation where looks are sure of more.
Maybe<Finding> evaluation(const Evidence& e) {
  const Share seen = shareOfChore(e, Chore::kEvaluation);
  const double share = seen.low > std::max(kNotable, e.evaluation) ? seen.value : e.evaluation;
  if (share <= kNotable) return {};
  Finding f = choreFinding(e, "periodic.evaluation", share,
                           "Evaluation takes a large part of the training time");
  tell(f, "evaluation takes " + percent(share) + " of the time", share, "ratio");
  std::int64_t passes = 0;
  for (const Pass& p : e.trainer.passes)
    passes += p.evaluation && p.end > e.trainer.windowBegin && p.begin < e.trainer.windowEnd;
  if (passes > 0)
    tell(f,
         std::to_string(passes) + (passes == 1 ? " pass in " : " passes in ") +
             std::to_string(e.trainer.windowSteps()) + " steps",
         static_cast<double>(passes), "count");
  pointAt(f, e, Chore::kEvaluation);
  offer(f, adviceOf("rarer_evaluation", {"code", "evaluation_interval", "1", "2"},
                    without(share, 0.5, 0.55, 0.45), "a bad run is noticed later"));
  return f;
}

}  // namespace stallprof
