// SPDX-License-Identifier: MIT
// compute.gil_bound: a thread beside the training holds the interpreter's lock.
#include <algorithm>

#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kThreadToProcess{
    "thread_to_process", {}, [](const AdviceContext& c) {
      const std::string& name = c.advice.change.name;
      return "Take " + (name.empty() ? std::string("what that thread does") : name) +
             " out of the training's process, into one of its own (multiprocessing), or let it "
             "sleep between rounds.";
    }};

Maybe<Finding> gilBoundStep(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (!lockHeldByOthers(e)) return {};
  const Share share = shareOfLock(e);
  const double ofThem = s.lockOthers / s.lockBeside;
  if (share.low * ofThem <= kNotable) return {};
  Finding f =
      overheadFinding(e, share.value * ofThem,
                      "The training step waits for Python's global lock, held by another thread");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "the training thread waits {} of the time for the lock", {ratioWord(share.value)},
              ratioWord(share.value));
  addIntervalEvidence(f, share, s.ownIdle.samples);
  HotQuery held;
  held.functions = &StackFacts::lockHolders;
  if (const auto holder = hottest(e, held)) {
    point(f, *holder);
    addEvidence(f, "{} of what is held beside it is held in {}",
                {ratioWord(holder->samples / s.lockBeside), textWord(nameOf(*holder))});
  }
  return withAdvice(
      f, {adviceOf(kThreadToProcess, {"code", nameOf(f.hot), "thread", "process"},
                   assuming("what the thread holds is no longer waited for, and it has a core",
                            withoutOverhead(e, f.shareRatio, 0, 0.5, 0)))});
}

}  // namespace

extern const FindingDefinition kGilBoundStep(
    "compute.gil_bound", gilBoundStep, offers(kThreadToProcess), within(),
    {.cause = R"(A thread that makes no batches, as one that draws a dashboard, holds Python's
  global lock, and the training thread waits for it between its operators.)",
     .rule = R"(the training thread waits for the lock, in steps or making a batch itself, and at
  least half of what is held beside it is held by threads that are not known to make batches or
  hand them over; their part is over 5 % of the window (at the low end of a 90 % interval). Each
  wait lasts up to 5 ms, Python's switch interval, whatever the operator before it took.)",
     .fixes = R"(- The thread's work in a process of its own; or less often.
- sys.setswitchinterval(0.0005): shorter waits, for more switches.)",
     .wrong = R"(the thread makes what the step needs, ahead of it, over a way that no rule
  knows: then it belongs into the loader's workers.)"});

}  // namespace stallprof
