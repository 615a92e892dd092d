// SPDX-License-Identifier: MIT
// transform.gil_bound: threads that make batches take turns at the interpreter's lock.
#include <algorithm>

#include "analysis/findings/overhead.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kMainShare = 0.5;

constexpr char kOtherOrder[] = "results arrive in another order where threads become processes";

const AdviceDefinition kReleaseTheLock{
    "release_the_lock",
    "Give the work to processes instead of threads (num_workers, or a process pool), or to "
    "a library that releases the lock while it works (Pillow, OpenCV, NumPy on large "
    "arrays do)."};

// Batches are ready in time, and yet the step is slow: what it takes of the lock comes after what
// the threads that make them take.
Maybe<Finding> besideTheStep(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (e.trainer.threads.empty() || s.lockProducers <= kMainShare * s.lockBeside) return {};
  if (s.stepLockWaits <= kMainShare * s.ownLockWaits) return {};  // it waits in its own fetches
  const Share share = shareOfLock(e);
  if (share.low <= kNotable) return {};
  Finding f = overheadFinding(
      e, share.value,
      "The training step waits for Python's global lock, held by threads that make batches");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "the training thread waits {} of the time for the lock", {ratioWord(share.value)},
              ratioWord(share.value));
  addIntervalEvidence(f, share, s.ownIdle.samples);
  addEvidence(f,
              "{} of the process make batches, and hold it {} of the time that others than the "
              "training thread do",
              {countWord(static_cast<std::int64_t>(e.trainer.threads.size()), "thread"),
               ratioWord(s.lockProducers / s.lockBeside)});
  if (const auto line = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kRunning})) {
    point(f, *line);
    addEvidence(f, "most of their work is in {}", {textWord(nameOf(*line))});
  }
  return withAdvice(f, {adviceOf(kReleaseTheLock, {"code", "threads", "python", "native"},
                                 assuming("half of the waiting leaves the step, at most all of it",
                                          withoutOverhead(e, share.value, 0.5, 0.9, 0)),
                                 kOtherOrder)});
}

Maybe<Finding> gilBound(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (auto beside = besideTheStep(e)) return beside;
  if (!lockBound(e)) return {};
  const Share waits = lockWaits(e);
  Finding f = loaderFinding(e, waits.value * e.transform,
                            "Threads that make batches wait for Python's global lock");
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
      f, {moreWorkers(e),
          adviceOf(kReleaseTheLock, {"code", "threads", "python", "native"}, {}, kOtherOrder)});
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
  of the window is blamed on making batches. Pure Python on n threads waits (n-1)/n. Or the
  training thread itself waits for the lock over 5 % of the window, and threads that make batches
  hold it for most of what is held beside it: that batches are ready in time does not show it.)",
     .fixes = R"(- Processes instead of threads: num_workers.
- Libraries that release the lock while they work.)",
     .wrong = R"(a free-threaded Python has no such lock. The threads that wait are not
  those that make batches: the evidence names the function.)"});

}  // namespace stallprof
