// SPDX-License-Identifier: MIT
// transform.cpu_saturated and transform.too_few_workers where threads of the training process make
// the batches: tf.data's, a prefetch thread's. What one batch takes of them is not known, so that
// no gain is predicted.
#include <algorithm>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

Finding saturated(const Evidence& e) {
  Finding f = findingOf(e, "transform.cpu_saturated", Phase::kTransform, e.transform,
                        "Making batches needs more CPU than the host has");
  offer(f, adviceOf("offline_preprocess", {"data", "dataset", "raw", "preprocessed"}, {},
                    "a second copy of the data, often larger"));
  return f;
}

Finding tooFew(const Evidence& e) {
  Finding f = findingOf(e, "transform.too_few_workers", Phase::kTransform, e.transform,
                        "Too few threads make batches: the step waits while cores are idle");
  offer(f, adviceOf("more_producers", {"code", "producers", "these threads", "more"}, {},
                    "threads of Python share the interpreter's lock with the loop"));
  return f;
}

}  // namespace

Maybe<Finding> threadsBehind(const Evidence& e) {
  if (e.loader || e.trainer.threads.empty() || e.transform <= kNotable) return {};
  if (e.transform < kTied * e.extract) return {};
  Finding f = coresFull(e) ? saturated(e) : tooFew(e);
  f.confidence = std::min(f.confidence, Confidence::kMedium);  // who makes data is found by looks
  tell(f,
       "waits " + duration(e.wait * e.perStep) + " of " + duration(e.perStep) + " a step for data",
       e.wait, "ratio");
  tell(f,
       "made by " + countOf(static_cast<int>(e.trainer.threads.size()), "thread") +
           " of the training process, which also do other work",
       static_cast<double>(e.trainer.threads.size()), "count");
  tell(f, "CPU in use: " + percent(e.coresBusy) + " of " + number(e.run.cores) + " usable cores",
       e.coresBusy, "ratio");
  return f;
}

}  // namespace stallprof
