// SPDX-License-Identifier: MIT
// transform.too_few_workers: those who make batches are busy, and cores are idle.
#include <string>

#include "analysis/findings/ahead.h"
#include "analysis/findings/transform/batches.h"

namespace stallprof {
namespace {

constexpr double kWorkersBusy = 0.70;  // in-order delivery idles busy workers to this

// A pipeline of tf.data in which maps or interleaves are parallel and none is not, and which
// prefetches.
bool isParallel(const LoaderInfo& loader) {
  const std::string stages = "." + loader.pipeline + ".";
  const auto has = [&](const char* stage) { return stages.find(stage) != std::string::npos; };
  return has(".Prefetch(") && has(".Parallel") && !has(".Map.") && !has(".Interleave.");
}

// Functions of Keras that ask a PyDataset of the program for its batches; a module or a class that
// is being made has other names.
bool makesSequences(const Trace& trace) {
  return std::any_of(trace.stacks.begin(), trace.stacks.end(), [&](const auto& row) {
    const std::string_view whole = trace.text(row.data.function),
                           name = whole.substr(whole.rfind('.') + 1);
    return !name.empty() && (name[0] == '_' || (name[0] >= 'a' && name[0] <= 'z')) &&
           trace.text(row.data.file).find("/data_adapters/py_dataset_adapter.py") !=
               std::string_view::npos;
  });
}

const AdviceDefinition kSequenceWorkers{
    "sequence_workers",
    "Pass more workers to the keras.utils.PyDataset: by default there is one, which makes one "
    "batch at a time. Threads are enough if compiled code that releases the GIL takes the time "
    "(PIL, OpenCV, NumPy), else use_multiprocessing=True, too. `stallprof run --set workers=N` "
    "tries a number."};

const AdviceDefinition kMoreProducers{
    "more_producers", {}, [](const AdviceContext& c) {
      const auto& run = c.analysis.run;
      const bool tensorflow = run.framework && run.framework->starts_with("tensorflow");
      // Of several it is not known which is the one.
      if (tensorflow && !run.loaders.empty() &&
          std::all_of(run.loaders.begin(), run.loaders.end(), isParallel))
        return std::string(
            "The pipeline already has parallel maps and prefetch. Read several files at once "
            "(interleave with num_parallel_calls=tf.data.AUTOTUNE, or num_parallel_reads), batch "
            "before a map that accepts whole batches, and call cache() after expensive "
            "operations.");
      if (c.withoutPython())
        return std::string("Make more batches in parallel and ahead of time, with more threads.");
      return std::string(
          tensorflow
              ? "Use more threads to make batches ahead of time. In tf.data: "
                "num_parallel_calls=tf.data.AUTOTUNE on each map and prefetch(tf.data.AUTOTUNE) at "
                "the end. In your own loop: processes if Python does the work."
              : "Make more batches in parallel and ahead of time: with processes if Python does "
                "the work, because it holds the GIL; with threads if compiled code does the work.");
    }};

const char* whileCores(const Evidence& e) {
  return e.coresUsed < kFewIdle ? " while cores are idle" : " while the job can have more cores";
}

Maybe<Finding> tooFewThreads(const Evidence& e) {
  if (!threadsFallBehind(e) || threadsLackCores(e) || pythonFallsBehind(e) || lockBound(e))
    return {};
  const auto all = static_cast<std::int64_t>(e.trainer.threads.size());
  const bool processes = threadsOfOthers(e) == all;  // a pool that the program started itself
  const std::string who = processes ? "processes" : "threads";
  Finding f = threadsFinding(e, "Too few " + who + " make batches: the step waits" + whileCores(e));
  addRereadEvidence(f, e);
  if (makesSequences(e.trace))
    return withAdvice(f, {adviceOf(kSequenceWorkers, {"code", "workers", "one", "more"},
                                   moreAtOnce(e, f.shareRatio, 2, "workers make"),
                                   "__getitem__ is called by several threads at once")});
  return withAdvice(
      f, {adviceOf(kMoreProducers, {"code", "producers", "these " + who, "more"},
                   moreAtOnce(e, f.shareRatio, 2, who + " make"),
                   processes                ? "memory, and a core, for each of them"
                   : e.trace.stacks.empty() ? ""
                                            : "Python threads share the GIL with the loop"),
          readOnce(e)});
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
  Finding f =
      loaderFinding(e, e.steadyWait(),
                    std::string("Too few workers: ") +
                        (busy ? "they are busy" : "the step waits for them") + whileCores(e));
  addWaitEvidence(f, e);
  addEvidence(f, "{} busy {} of the time",
              {countWord(e.workers(), "worker"), ratioWord(e.workersBusy)},
              ratioWord(e.workersBusy));
  addBatchEvidence(f, e);
  addRereadEvidence(f, e);
  addCoresEvidence(f, e);
  return withAdvice(f, {std::move(more), readOnce(e)});
}

}  // namespace

extern const FindingDefinition kTooFewWorkers(
    "transform.too_few_workers", tooFewWorkers,
    offers(kMoreWorkers, kMoreProducers, kSequenceWorkers, kReadOnce),
    within("transform.in_process", "transform.cpu_saturated"),
    {.cause =
         R"(The workers are always busy, the trainer waits for them, and cores are idle. More workers
  would use these cores.)",
     .rule =
         R"(more than 5 % of the window is blamed on making batches, or on waits of the workers that
  no rule matches (a sleep), and more than on reading. Workers are busy over 70 % of the time, or
  the pipeline model predicts a gain of 5 % with more workers. The cores are under 90 % in use. If
  threads of the training process make the batches (tf.data, a prefetch thread): the step waits for
  them, they do not wait for the GIL, cores are idle, and the training thread does not lack one.)",
     .fixes =
         R"(- Raise num_workers to the predicted number, which never exceeds cores or memory.
- Cheaper preprocessing, if memory for workers is short.)",
     .wrong = R"(the idle cores are hyper-threads (about a quarter of a core each). Or workers wait
  for one lock, one disk or the memory bus. A trial with the new number shows it.)"});

}  // namespace stallprof
