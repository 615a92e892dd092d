// SPDX-License-Identifier: MIT
// load.no_prefetch: too few batches are made ahead.
#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

constexpr double kFewBatches = 4, kBatchesVary = 0.10;  // prefetch x workers; CV of batch times
constexpr double kSomeWait = 0.02;  // an empty queue that costs nothing is no finding

Maybe<Finding> noPrefetch(const Evidence& e) {
  if (e.workers() < 1 || e.steadyWait() <= kSomeWait) return {};
  const double cv = e.gains.demand().batchCv;
  const int ahead = e.prefetch() * e.workers();
  const bool few = ahead < kFewBatches && cv > kBatchesVary;
  if (e.prefetch() != 1 && !few) return {};
  auto more = morePrefetch(e);
  if (!more) return {};
  Finding f = loaderFinding(e, e.steadyWait(),
                            "Too few batches are prefetched to compensate for a slow one");
  addEvidence(
      f, "at most {} ahead (prefetch_factor {}, {})",
      {countWord(ahead, "batch"), countWord(e.prefetch()), countWord(e.workers(), "worker")});
  addEvidence(f, "batch times vary by {}", {ratioWord(cv)});
  addEvidence(f, "waits {} of the time", {ratioWord(e.steadyWait())});
  return withAdvice(f, {std::move(more)});
}

}  // namespace

extern const FindingDefinition kNoPrefetch(
    "load.no_prefetch", noPrefetch, offers(kMorePrefetch),
    within("transform.too_few_workers", "transform.cpu_saturated", "transform.stragglers"),
    {.cause = R"(So few batches are prefetched that a single slow batch empties the queue.)",
     .rule =
         R"(prefetch_factor is 1, or fewer than 4 batches are ahead (prefetch x workers) while batch
  times vary by over 10 %. Waiting takes over 2 % of the window, and the model predicts a gain.)",
     .fixes = R"(- Raise prefetch_factor to 4; it costs shared memory for each batch.
- More workers also prefetch more batches.)",
     .wrong = R"(the workers are too slow on average. A longer queue does not add capacity, and the
  model predicts no gain.)"});

}  // namespace stallprof
