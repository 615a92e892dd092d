// SPDX-License-Identifier: MIT
// transform.gil_bound: threads that make batches take turns at the interpreter's lock.
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

// Two threads of pure Python wait half the time, n of them (n-1)/n; a pool that mostly works in C
// waits a few percent.
constexpr double kOftenWaiting = 0.25;

const AdviceDefinition kReleaseTheLock{
    "release_the_lock",
    "Give the work to processes instead of threads (num_workers, or a process pool), or to "
    "a library that releases the lock while it works (Pillow, OpenCV, NumPy on large "
    "arrays do)."};

Maybe<Finding> gilBound(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (s.lockThreads < 2) return {};
  const Share waits = shareOf(s.lockWaits, s.lockWanted);
  if (waits.low <= kOftenWaiting || e.transform <= kNotable) return {};
  Finding f = loaderFinding(e, waits.value * e.transform,
                            "Threads that make batches wait for Python's global lock");
  if (f.shareRatio <= kNotable) return {};
  f.confidence = lowered(f.confidence);
  addEvidence(f,
              "{} Python threads in one process; wanting to run, they wait {} of the time for the "
              "lock",
              {countWord(s.lockThreads), ratioWord(waits.value)}, ratioWord(waits.value));
  addIntervalEvidence(f, waits, s.lockWanted.samples);
  if (const auto line = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kLockWaits})) {
    point(f, *line);
    addEvidence(f, "most of the waiting in {}", {textWord(nameOf(*line))});
  }
  return withAdvice(
      f,
      {moreWorkers(e), adviceOf(kReleaseTheLock, {"code", "threads", "python", "native"}, {},
                                "results arrive in another order where threads become processes")});
}

}  // namespace

const FindingDefinition kGilBound(
    "transform.gil_bound", gilBound, offers(kMoreWorkers, kReleaseTheLock),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(Threads that make batches take turns at Python's global lock: many threads, the work of
  one.)",
     .rule = R"(two or more Python threads of a process that makes batches want to run, and
  wait for the lock over 25 % of that time (at the low end of a 90 % interval); over 5 %
  of the window is blamed on making batches. Pure Python on n threads waits (n-1)/n.)",
     .fixes = R"(- Processes instead of threads: num_workers.
- Libraries that release the lock while they work.)",
     .wrong = R"(a free-threaded Python has no such lock. The threads that wait are not
  those that make batches: the evidence names the function.)"});

}  // namespace stallprof
