// SPDX-License-Identifier: MIT
// transform.in_process: the training process makes its batches itself.
#include <algorithm>

#include "analysis/findings/overhead.h"
#include "analysis/findings/samplers.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr const char* kInProcessTitle = "Batches are made in the training process, between steps";

const AdviceDefinition kIntoLoader{
    "into_loader",
    "Move this into the data set or the loader's collate_fn, so that its workers do it while the "
    "step is computed."};

void pointAtMaking(Finding& f, const Evidence& e, Phase phase) {
  const auto line = hottest(e, {Side::kTrainer, phase, {}, HotQuery::Of::kAll});
  if (!line) return;
  f.where = line->where;
  point(f, *line);
  addEvidence(f, "most of it in {}", {textWord(nameOf(*line))});
}

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
  pointAtMaking(f, e, e.transform >= e.extract ? Phase::kTransform : Phase::kExtract);
  return withAdvice(f, {loadAhead(e)});
}

// The loader's batches are not what the model gets: the loop goes on with them.
Maybe<Finding> inLoop(const Evidence& e) {
  Finding f =
      loaderFinding(e, e.inLoop, "Batches are finished in the training loop, not by the loader");
  f.confidence = std::min(Confidence::kMedium, shareConfidence(e));
  addEvidence(f, "between its loader and its model the loop makes data {} of the time",
              {ratioWord(e.inLoop)}, ratioWord(e.inLoop));
  addCoresEvidence(f, e);
  pointAtMaking(f, e, Phase::kTransform);
  return withAdvice(f, {adviceOf(kIntoLoader, {"code", "loading", "in the loop", "in the loader"},
                                 assuming("its workers do it in time, on cores of their own",
                                          withoutOverhead(e.inLoop, 0.2, 0.9, 0)),
                                 "as many workers more as it takes, and cores for them")});
}

Maybe<Finding> inProcess(const Evidence& e) {
  if (!e.loader) return withoutLoader(e);
  if (e.inLoop > kNotable && (e.workers() > 0 || e.inLoop > e.wait)) return inLoop(e);
  if (e.workers() > 0 || e.wait <= kNotable) return {};
  if (samplersTakeMost(e, e.wait)) return samplersFinding(e, e.wait);
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
    "transform.in_process", inProcess,
    offers(kMoreWorkers, kOfflinePreprocess, kLoadAhead, kIntoLoader, kCheaperSampler),
    within("transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(The loader has no workers, or the loop goes on with its batches: the training process
  makes the data itself, and no step is computed meanwhile.)",
     .rule = R"(num_workers is 0 and fetching takes more than 5 % of the window. Without a loader
  that is known, when the training thread's own stacks are in reading and transforming for
  more than 5 %, and no thread beside it makes data. With a loader, too, when functions of the
  user's own, or rules, between its batches and the model make data for more than 5 %.
  Workers do not run the loader's sampler: where that takes most of it, it is what is named.)",
     .fixes =
         R"(- num_workers=N with persistent_workers=True; N is within cores and memory by the model.
  On a single core: cheaper preprocessing. Of a sampler: an epoch's indices at once, as arrays.
- What the loop itself does with a batch: into the data set or collate_fn, for the workers.
- A loop without a loader: make the next batch in a thread or process meanwhile.)",
     .wrong = R"(batches are tiny (under a millisecond): handing them between processes
  costs more than it saves, and the predicted gain says so. Datasets that cannot be
  pickled need the fork start method. Data on a device cannot be made in workers.)"});

}  // namespace stallprof
