// SPDX-License-Identifier: MIT
// transform.in_process: the training process makes its batches itself.
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr const char* kInProcessTitle = "Batches are made in the training process, between steps";

// No loader that the hook knows: the training thread's own stacks show that it makes its data, and
// no thread beside it does.
Maybe<Finding> withoutLoader(const Evidence& e) {
  if (!e.trainer.withoutFetches() || !e.trainer.threads.empty() || e.wait <= kNotable) return {};
  if (e.trainer.native.seen && e.extract > e.transform) return {};  // how it reads says more
  Finding f = loaderFinding(e, e.wait, kInProcessTitle);
  f.confidence = shareConfidence(e);
  addEvidence(f, "the training thread itself reads and transforms: nothing is made ahead");
  addWaitEvidence(f, e);
  addCoresEvidence(f, e);
  const Phase larger = e.transform >= e.extract ? Phase::kTransform : Phase::kExtract;
  if (const auto line = hottest(e, {Side::kTrainer, larger, {}, HotQuery::Of::kAll})) {
    f.where = line->where;
    point(f, *line);
    addEvidence(f, "most of it in {}", {textWord(nameOf(*line))});
  }
  return withAdvice(f, {loadAhead(e)});
}

Maybe<Finding> inProcess(const Evidence& e) {
  if (!e.loader) return withoutLoader(e);
  if (e.workers() > 0 || e.wait <= kNotable) return {};
  Finding f = loaderFinding(e, e.wait, kInProcessTitle);
  addEvidence(f, "num_workers is 0: every fetch holds up the step", {}, countWord(0));
  addWaitEvidence(f, e);
  addBatchEvidence(f, e);
  addCoresEvidence(f, e);
  if (e.transform > kNotable) return withAdvice(f, {moreWorkers(e), offlinePreprocess(e)});
  return withAdvice(f, {moreWorkers(e)});
}

}  // namespace

extern const FindingDefinition kInProcess(
    "transform.in_process", inProcess, offers(kMoreWorkers, kOfflinePreprocess, kLoadAhead),
    within("transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(The loader has no workers: the training process makes each batch itself, and no step is
  computed meanwhile.)",
     .rule = R"(num_workers is 0 and fetching takes more than 5 % of the window. Without a loader
  that is known, when the training thread's own stacks are in reading and transforming for
  more than 5 %, and no thread beside it makes data.)",
     .fixes =
         R"(- num_workers=N with persistent_workers=True; N is chosen by the model within cores and
  memory.
- On a single core: cheaper preprocessing, since workers would share the core.
- A loop without a loader: make the next batch in a thread or process while this one is
  computed.)",
     .wrong = R"(batches are tiny (under a millisecond): handing them between processes
  costs more than it saves, and the predicted gain says so. Datasets that cannot be
  pickled need the fork start method. Data on a device cannot be made in workers.)"});

}  // namespace stallprof
