// SPDX-License-Identifier: MIT
// compute.gil_bound: a thread beside the training holds the interpreter's lock.
#include <algorithm>

#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kThreadToProcess{
    "thread_to_process", {}, [](const AdviceContext& c) {
      const std::string& name = c.advice.change.name;
      return "Move " + (name.empty() ? std::string("the work of that thread") : name) +
             " from the training process to a separate process (multiprocessing), or let it sleep "
             "between iterations.";
    }};

Maybe<Finding> gilBoundStep(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (!lockHeldByOthers(e)) return {};
  const Share share = shareOfLock(e);
  const double ofThem = s.lockOthers / s.lockBeside;
  if (share.low * ofThem <= kNotable) return {};
  Finding f =
      overheadFinding(e, share.value * ofThem,
                      "The training step waits for Python's GIL, which another thread holds");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "the training thread waits {} of the time for the GIL", {ratioWord(share.value)},
              ratioWord(share.value));
  addIntervalEvidence(f, share, s.ownIdle.samples);
  HotQuery held;
  held.functions = &StackFacts::lockHolders;
  if (const auto holder = hottest(e, held)) {
    point(f, *holder);
    addEvidence(f, "{} of the time that other threads hold it is in {}",
                {ratioWord(holder->samples / s.lockBeside), textWord(nameOf(*holder))});
  }
  return withAdvice(
      f,
      {adviceOf(
          kThreadToProcess, {"code", nameOf(f.hot), "thread", "process"},
          assuming("the training no longer waits for this thread, and the thread has its own core",
                   withoutOverhead(e, f.shareRatio, 0, 0.5, 0)))});
}

}  // namespace

extern const FindingDefinition kGilBoundStep(
    "compute.gil_bound", gilBoundStep, offers(kThreadToProcess), within(),
    {.cause =
         R"(A thread that makes no batches, for example one that draws a dashboard, holds Python's global
  lock (GIL). The training thread waits for it between its operators.)",
     .rule = R"(the training thread waits for the GIL, in steps or while it makes a batch itself. At
  least half of the time that other threads hold the GIL is of threads that are not known to make or
  hand over batches. Their part is over 5 % of the window (at the low end of a 90 % interval). Each
  wait lasts up to 5 ms, Python's switch interval, for any duration of the operator before it.)",
     .fixes = R"(- Run the thread's work in a separate process, or less often.
- sys.setswitchinterval(0.0005): shorter waits, but more switches.)",
     .wrong = R"(the thread prepares data for the step, in a way that no rule matches: move this
  work to the loader's workers.)"});

}  // namespace stallprof
