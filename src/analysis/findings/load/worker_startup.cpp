// SPDX-License-Identifier: MIT
// load.worker_startup: workers end with each epoch and are started again.
#include <algorithm>

#include "analysis/findings/fixes.h"
#include "analysis/findings/loader_setting.h"

namespace stallprof {
namespace {

constexpr double kStartupShare = 0.02;  // of the window

const AdviceDefinition kPersistentWorkers{
    "persistent_workers", {}, [](const AdviceContext& c) {
      return "Pass " + settingOf(c, "persistent_workers") + "=True" + atSetting(c) +
             ": the workers then continue from epoch to epoch instead of being restarted.";
    }};

const AdviceDefinition kOneLoader{"one_loader", {}, [](const AdviceContext& c) {
                                    return "Make the loader once, before the epochs, with " +
                                           settingOf(c, "persistent_workers") +
                                           "=True: one that is made again" + atSetting(c) +
                                           " starts workers of its own, whatever its settings.";
                                  }};

const AdviceDefinition kForkWorkers{
    "fork_workers", {}, [](const AdviceContext& c) {
      return "Start the workers by fork, not " + c.advice.change.from +
             " (multiprocessing_context=\"fork\"" + atSetting(c) +
             "): they then need no new interpreter, no imports and no copy of the data set.";
    }};

const AdviceDefinition kKeepIterator{
    "keep_iterator", {}, [](const AdviceContext& c) {
      return "Make one iterator outside of the loop, and another when it ends: next(iter(loader)) "
             "starts all workers of the loader" +
             atSetting(c) + " for each batch, and ends them.";
    }};

double evaluationShare(const Evidence& e) {
  return e.perStep > 0 ? e.gains.workload().evaluation.start / e.perStep : 0;
}

double startupShare(const Evidence& e) {
  const Workload& w = e.gains.workload();
  const double modelled =
      w.stepsPerEpoch > 0 && e.perStep > 0 ? w.startup / w.stepsPerEpoch / e.perStep : 0;
  return std::max(e.startup, modelled) + evaluationShare(e);
}

// What workers that go on would save: also what they do in their first batches, as imports.
double slowFirstsShare(const Evidence& e) {
  PipelineSettings s = e.gains.base();
  s.persistent = true;
  const double saved = 1 - 1 / std::max(1.0, e.gains.predict(s).speedup.value_or(1));
  return saved > kNotable ? saved : 0;
}

// The mean; the window's steps by the epochs that begin in it (w.stepsPerEpoch) hold parts of
// epochs. 0: none was seen whole.
double stepsOfWholeEpochs(const Evidence& e) {
  double steps = 0, epochs = 0;
  for (const Epoch& epoch : e.trainer.epochs)
    if (epoch.whole && !epoch.evaluation) {
      steps += static_cast<double>(epoch.steps);
      ++epochs;
    }
  return epochs > 0 ? steps / epochs : 0;
}

// Iterators that are made for a batch or two and left.
bool leavesIterators(const Evidence& e) {
  constexpr double kFew = 3;  // steps of one
  std::size_t epochs = 0, whole = 0;
  for (const Epoch& epoch : e.trainer.epochs) {
    epochs += !epoch.evaluation;
    whole += !epoch.evaluation && epoch.whole;
  }
  const double steps = e.gains.workload().stepsPerEpoch;
  return steps > 0 && steps < kFew && 2 * whole < epochs;
}

Maybe<Advice> keepIterator(const Evidence& e) {
  if (!leavesIterators(e)) return {};
  PipelineSettings s = e.gains.base();
  s.oneEpoch = true;
  return adviceOf(kKeepIterator, {"code", "iterator", "one per batch", "one"}, e.gains.predict(s),
                  "each pass then gives all samples once; random batches may have repeated some");
}

// Another loader for each epoch: its workers end with it.
bool madeForEachEpoch(const Evidence& e) {
  int epochs = 0, first = 0;
  eachEpochOfWindow(e.trainer, [&](const Epoch& epoch, bool isFirst) {
    epochs += !epoch.evaluation;
    first += !epoch.evaluation && isFirst;
  });
  return first >= 2 && 2 * first > epochs;
}

// Workers that go on from epoch to epoch.
Advice goingOn(const Evidence& e) {
  PipelineSettings s = e.gains.base();
  s.persistent = true;
  const bool again = madeForEachEpoch(e);
  if (again) s.startup = 0;
  PipelineSettings slow = s;
  // Not all that is slow at an epoch's begin need be so for the start: the iterator of an iterable
  // data set, and the program's own code there.
  slow.slowFirsts = true;
  const Prediction gain = e.gains.predict(s, slow, s);
  const char* risk =
      "the workers' memory stays in use between epochs; workers do not see changes to the dataset "
      "object between epochs";
  if (again) return adviceOf(kOneLoader, {"code", "loader", "one per epoch", "one"}, gain, risk);
  return adviceOf(kPersistentWorkers, {"loader_arg", "persistent_workers", "False", "True"}, gain,
                  risk);
}

Maybe<Advice> forkWorkers(const Evidence& e) {
  const std::string method(e.trace.text(e.loader->startMethod));
  if (method != "spawn" && method != "forkserver") return {};
  const auto leaving = [&](double left) {
    PipelineSettings s = e.gains.base();
    s.startup = left * e.gains.workload().startup;
    return s;
  };
  return adviceOf(
      kForkWorkers, {"code", "start method", method, "fork"},
      assuming("fork starts them in a tenth of the time, at best a fiftieth",
               e.gains.predictAssumed(leaving(0.1), leaving(0.5), leaving(0.02))),
      "forked workers may not use a device, and hang on locks that threads of the program held");
}

Maybe<Finding> workerStartup(const Evidence& e) {
  const Workload& w = e.gains.workload();
  if (e.workers() < 1 || (e.gains.base().persistent && !madeForEachEpoch(e))) return {};
  const double start = startupShare(e), withFirsts = slowFirstsShare(e);
  const double share = std::max(start, withFirsts);
  if (share <= kStartupShare || e.drawingAhead.value > share / 2) return {};
  const double evaluation = evaluationShare(e);
  const double perEpoch =
      withFirsts > start || evaluation > 0 ? share * e.perStep * w.stepsPerEpoch : w.startup;
  Finding f = loaderFinding(e, share, "Workers are restarted for every epoch");
  if (withFirsts > start)
    addEvidence(f, "starting workers takes {} of the time, with their slower first batches {}",
                {ratioWord(start), ratioWord(share)}, ratioWord(share));
  else
    addEvidence(f, "starting workers takes {} of the time", {ratioWord(share)});
  if (evaluation > kStartupShare)
    addEvidence(f, "{} of the time is for evaluation, whose loader the same line makes",
                {ratioWord(evaluation)});
  if (const double steps = stepsOfWholeEpochs(e); steps > 0 && w.stepsPerEpoch > 0)
    addEvidence(f, "{} per epoch of {} steps", {timeWord(perEpoch), numberWord(steps)});
  else if (w.stepsPerEpoch > 0)
    addEvidence(f, "{} per epoch", {timeWord(perEpoch)});
  return withAdvice(f,
                    {keepIterator(e), goingOn(e), forkWorkers(e), fewerWorkers(e, kFewerStarts)});
}

}  // namespace

extern const FindingDefinition kWorkerStartup(
    "load.worker_startup", workerStartup,
    offers(kPersistentWorkers, kOneLoader, kForkWorkers, kFewerStarts, kKeepIterator),
    {.cause =
         R"(The workers end with each epoch and are restarted. Imports, the copy of the dataset and the
  first batches are repeated each time. The next step also copies memory that forked workers share.)",
     .rule = R"(persistent_workers is off, or another loader is made for each epoch, and starting
  workers takes over 2 % of the window, or the pipeline model predicts over 5 % without it: what a
  worker imports or compiles in its first batch is done again in each epoch. Evaluation counts where
  the same line makes its loader. If most of that time is the sampler's, load.ipc names it.)",
     .fixes = R"(- persistent_workers=True. A loader made before the epochs, not in them.
- num_workers=0, or fewer, if batches are so cheap that starting workers costs more.
- Longer epochs: a sampler that repeats the data set. One iterator, not next(iter(loader)).
- fork instead of spawn, lighter imports in the main module.)",
     .wrong = R"(there is only one epoch after the window's start, so there is nothing to save
  later. Datasets that change between epochs need new workers.)"});

}  // namespace stallprof
