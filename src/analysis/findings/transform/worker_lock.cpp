// SPDX-License-Identifier: MIT
// transform.worker_lock: workers make batches one at a time, behind a lock that they share.
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

const AdviceDefinition kShareNoLock{
    "share_no_lock",
    "Give each worker its own file handle, connection or copy (made in worker_init_fn), without "
    "the lock. Or do the slow part outside of it. Or make the batches once before training."};

Maybe<Finding> workerLock(const Evidence& e) {
  const double share = std::min(e.locked(), e.steadyWait());  // what nobody waits for costs nothing
  if (!e.loader || e.workers() < 2 || share <= kNotable) return {};
  const WorkerLock& lock = e.trainer.workerLock;
  Finding f = loaderFinding(e, share,
                            "Workers make batches one at a time: each waits for a lock that "
                            "another holds");
  addWaitEvidence(f, e);
  const double waits = seconds(lock.waited) / seconds(lock.making);
  addEvidence(f, "{} wait for a lock {} of the time in which they make batches",
              {countWord(e.workers(), "worker"), ratioWord(waits)}, ratioWord(waits));
  if (lock.exclude())
    addEvidence(f, "all of them at once {} of the time: one holds it",
                {ratioWord(seconds(lock.every) / seconds(lock.watched))});
  if (2 * lock.named >= lock.waited)
    addEvidence(f, "{} of these waits are in a lock of multiprocessing",
                {ratioWord(seconds(lock.named) / seconds(lock.waited))});
  addEvidence(f, "the lock is held {} of {} per step",
              {timeWord(e.locked() * e.perStep), timeWord(e.perStep)}, ratioWord(e.locked()));
  if (const auto line =
          hottest(e, {Side::kProducer, Phase::kTransform, {}, HotQuery::Of::kBlocked}))
    point(f, *line);
  return withAdvice(
      f, {adviceOf(kShareNoLock, {"code", "lock", "shared by workers", "none"},
                   predictScaled(e, &PipelineSettings::lockedScale, 0.5, 0.9, 0,
                                 "half of the time under the lock needs none, at most all of it"),
                   "what the lock protects has to stand two workers at a time")});
}

}  // namespace

extern const FindingDefinition kWorkerLock(
    "transform.worker_lock", workerLock, offers(kShareNoLock), within("transform.too_few_workers"),
    {.cause =
         R"(The workers share a lock (flock, a multiprocessing.Lock, a mutex in shared memory) and do
  most of their work while they hold it. However many there are, one works at a time.)",
     .rule =
         R"(by samples, workers wait in locks while no other thread of their process works. They
  exclude each other: by chance all would wait at once four times as often as they do; or half of
  these waits are in `with lock:` of a multiprocessing lock. While a
  worker waits, another holds the lock; that time is over 5 % of the window, and the trainer waits
  as long for data. The pipeline model lets no step be shorter than it.)",
     .fixes = R"(- One file handle, connection or copy for each worker, opened in worker_init_fn.
- Less under the lock: read under it, decode after it.
- The batches made once before training.)",
     .wrong = R"(a device behind the lock serves one request at a time in any case. Or each worker
  waits for a helper of its own, and the helpers wait for each other.)"});

}  // namespace stallprof
