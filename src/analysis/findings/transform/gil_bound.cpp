// SPDX-License-Identifier: MIT
// transform.gil_bound: threads that make batches take turns at the interpreter's lock.
#include <algorithm>

#include "analysis/findings/overhead.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kMainShare = 0.5;

constexpr char kOtherOrder[] = "results arrive in another order if threads become processes";

const AdviceDefinition kReleaseTheLock{
    "release_the_lock",
    "Use processes instead of threads (num_workers, or a process pool), or a library that releases "
    "the GIL during its work (Pillow, OpenCV, NumPy on large arrays)."};

// Batches are ready in time, and yet the step is slow: what it takes of the lock comes after what
// the threads that make them take.
Maybe<Finding> besideTheStep(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (!producersHoldLock(e)) return {};
  if (s.stepLockWaits <= kMainShare * s.ownLockWaits) return {};  // it waits in its own fetches
  const Share share = shareOfLock(e);
  Finding f = overheadFinding(
      e, share.value,
      "The training step waits for Python's GIL, which threads that make batches hold");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "the training thread waits {} of the time for the GIL", {ratioWord(share.value)},
              ratioWord(share.value));
  addIntervalEvidence(f, share, s.ownIdle.samples);
  addEvidence(
      f,
      "{} of the process make batches, and hold it for {} of the time that other threads hold it",
      {countWord(static_cast<std::int64_t>(e.trainer.threads.size()), "thread"),
       ratioWord(s.lockProducers / s.lockBeside)});
  if (const auto line = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kRunning})) {
    point(f, *line);
    addEvidence(f, "most of their work is in {}", {textWord(nameOf(*line))});
  }
  return withAdvice(
      f, {adviceOf(kReleaseTheLock, {"code", "threads", "python", "native"},
                   assuming("half of the waiting is removed from the step, at most all of it",
                            withoutOverhead(e, share.value, 0.5, 0.9, 0)),
                   kOtherOrder)});
}

Maybe<Finding> gilBound(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  if (auto beside = besideTheStep(e)) return beside;
  if (!lockBound(e)) return {};
  const Share waits = lockWaits(e);
  Finding f = loaderFinding(e, waits.value * e.transform,
                            "Threads that make batches wait for Python's GIL");
  f.confidence = lowered(f.confidence);
  addEvidence(
      f,
      "{} Python threads in one process; when ready to run, they wait {} of the time for the GIL",
      {countWord(s.lockThreads), ratioWord(waits.value)}, ratioWord(waits.value));
  addIntervalEvidence(f, waits, s.lockWanted.samples);
  if (const auto line = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kLockWaits})) {
    point(f, *line);
    addEvidence(f, "most of the waiting is in {}", {textWord(nameOf(*line))});
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
         R"(Threads that make batches share Python's global lock (GIL). Many threads then do the work of
  one.)",
     .rule =
         R"(two or more Python threads of a process that makes batches are ready to run, and wait
  for the GIL over 25 % of that time (at the low end of a 90 % interval). Over 5 % of the window is
  blamed on making batches. Pure Python on n threads waits (n-1)/n. Or the training thread itself
  waits for the GIL over 5 % of the window, and threads that make batches hold it for most of the
  time that other threads hold it. Batches can be ready in time in this case.)",
     .fixes = R"(- Processes instead of threads: num_workers.
- Libraries that release the GIL during their work.)",
     .wrong = R"(a free-threaded Python has no such lock. Or the threads that wait do not make
  batches: the evidence names the function.)"});

}  // namespace stallprof
