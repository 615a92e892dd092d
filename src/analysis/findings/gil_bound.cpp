// SPDX-License-Identifier: MIT
// transform.gil_bound: threads that make batches take turns at the interpreter's lock.
#include "analysis/findings/hot.h"
#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

// Two threads of pure Python wait half the time, n of them (n-1)/n; a pool that mostly works in C
// waits a few percent.
constexpr double kOftenWaiting = 0.25;

}  // namespace

Maybe<Finding> gilBound(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (s.lockThreads < 2) return {};
  const Share waits = shareOf(s.lockWaits, s.lockWanted);
  if (waits.low <= kOftenWaiting || e.transform <= kNotable) return {};
  Finding f = findingOf(e, "transform.gil_bound", Phase::kTransform, waits.value * e.transform,
                        "Threads that make batches wait for Python's global lock");
  if (f.shareRatio <= kNotable) return {};
  f.confidence = lowered(f.confidence);
  tell(f,
       std::to_string(s.lockThreads) +
           " Python threads in one process; wanting to run, they wait " + percent(waits.value) +
           " of the time for the lock",
       waits.value, "ratio");
  tellInterval(f, waits, s.lockWanted.looks);
  const HotQuery waiting{Side::kProducer, {}, {}, HotQuery::Of::kLockWaits};
  if (const auto line = hottest(e, waiting)) {
    point(f, *line);
    tell(f, "most of the waiting in " + nameOf(*line));
  }
  if (auto more = moreWorkers(e)) offer(f, std::move(*more));
  offer(f, adviceOf("release_the_lock", {"code", "threads", "python", "native"}, {},
                    "results arrive in another order where threads become processes"));
  return f;
}

}  // namespace stallprof
