// SPDX-License-Identifier: MIT
// transform.too_few_workers: those who make batches are busy, and cores are idle.
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kWorkersBusy = 0.70;  // in-order delivery idles busy workers to this

// A pipeline of tf.data in which no map or interleave is sequential, and which prefetches.
bool isParallel(const LoaderInfo& loader) {
  const std::string stages = "." + loader.pipeline + ".";
  const auto has = [&](const char* stage) { return stages.find(stage) != std::string::npos; };
  return has(".Prefetch(") && !has(".Map.") && !has(".Interleave.");
}

const AdviceDefinition kMoreProducers{
    "more_producers", {}, [](const AdviceContext& c) {
      const auto& run = c.analysis.run;
      const bool tensorflow = run.framework && run.framework->starts_with("tensorflow");
      if (tensorflow && std::any_of(run.loaders.begin(), run.loaders.end(), isParallel))
        return std::string(
            "Its maps are parallel and it prefetches already. Read several files at once "
            "(interleave with num_parallel_calls=tf.data.AUTOTUNE, or num_parallel_reads), batch "
            "before a map that can take whole batches, and cache() after what is costly.");
      return std::string(
          tensorflow ? "Let more threads make batches, and ahead: in tf.data "
                       "num_parallel_calls=tf.data.AUTOTUNE on each map and "
                       "prefetch(tf.data.AUTOTUNE) at the end; in a loop of your own processes "
                       "where Python does the work."
                     : "Let more of the program make batches, and ahead: processes where Python "
                       "does the work, which holds its lock; threads where compiled code does.");
    }};

Maybe<Finding> tooFewThreads(const Evidence& e) {
  if (!threadsFallBehind(e) || coresFull(e) || pythonFallsBehind(e) || lockBound(e)) return {};
  Finding f =
      threadsFinding(e, "Too few threads make batches: the step waits while cores are idle");
  return withAdvice(f, {adviceOf(kMoreProducers, {"code", "producers", "these threads", "more"}, {},
                                 "threads of Python share the interpreter's lock with the loop")});
}

Maybe<Finding> tooFewWorkers(const Evidence& e) {
  if (!e.loader) return tooFewThreads(e);
  // A batch for which a worker sleeps, or waits for what no rule knows, is made as slowly.
  const double made = e.transform + e.unknownWait;
  if (e.workers() < 1 || made <= kNotable || made < kTied * e.extract) return {};
  if (coresFull(e)) return {};
  auto more = moreWorkers(e);
  if (!more) return {};
  const bool busy = e.workersBusy >= kWorkersBusy;
  // Workers that rest now and then (between epochs) are still too few where the model says so.
  if (!busy && more->predicted.speedup.value_or(1) < kWorthIt) return {};
  Finding f = loaderFinding(e, e.steadyWait(),
                            busy ? "Too few workers: they are busy while cores are idle"
                                 : "Too few workers: the step waits for them while cores are idle");
  addWaitEvidence(f, e);
  addEvidence(f, "{} busy {} of the time",
              {countWord(e.workers(), "worker"), ratioWord(e.workersBusy)},
              ratioWord(e.workersBusy));
  addBatchEvidence(f, e);
  addCoresEvidence(f, e);
  return withAdvice(f, {std::move(more)});
}

}  // namespace

extern const FindingDefinition kTooFewWorkers(
    "transform.too_few_workers", tooFewWorkers, offers(kMoreWorkers, kMoreProducers),
    within("transform.in_process", "transform.cpu_saturated"),
    {.cause =
         R"(The workers make batches all the time, the trainer waits for them, and cores are idle:
  more workers would use them.)",
     .rule = R"(more than 5 % of the window is blamed on making batches, or on waits inside
  that which no rule explains (a sleep), more than on reading; workers are busy over 70 % of
  the time or the model gains 5 % with more, and the cores are under 90 % in use. Where
  threads of the training process make the batches (tf.data, a prefetch thread): when the
  step waits for those, not they for Python's lock, and cores are idle.)",
     .fixes =
         R"(- Raise num_workers to the number the model found; it never exceeds cores or memory.
- Cheaper preprocessing, where memory for workers is short.)",
     .wrong = R"(the idle cores are hyper-threads (worth about a quarter of a core), or
  workers queue for one lock, one disk or the memory bus. A trial with the new number
  shows it.)"});

}  // namespace stallprof
