// SPDX-License-Identifier: MIT
// transform.in_process: the training process makes its batches itself.
#include <algorithm>
#include <utility>

#include "analysis/findings/ahead.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "analysis/findings/samplers.h"
#include "analysis/findings/transform/batches.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

constexpr const char* kInProcessTitle = "Batches are made in the training process, between steps";

const AdviceDefinition kOutOfPython{
    "out_of_python", {}, [](const AdviceContext& c) {
      return "Make several batches at a time" + atLine(c.finding.where) +
             ": in threads, if compiled code that releases the GIL takes the time (PIL, OpenCV, "
             "NumPy; keras.utils.PyDataset(workers=N)), else in processes "
             "(use_multiprocessing=True, a process pool behind the generator), because only one "
             "thread of a process runs Python code at a time. Or move the work into map() with "
             "TensorFlow's own operations and num_parallel_calls=tf.data.AUTOTUNE. prefetch(1) at "
             "the end makes one batch during the previous step.";
    }};

const AdviceDefinition kLoadInProcesses{
    "load_in_processes", {}, [](const AdviceContext& c) {
      return "Make this code cheaper, or make batches ahead in other processes" +
             atLine(c.finding.where) + " (" + std::string(processesFor(c)) +
             "). A thread gains little here: this code holds the GIL, which the step needs too. "
             "What is the same in each pass, make once.";
    }};

const AdviceDefinition kIntoLoader{
    "into_loader",
    "Move this work to the data set or the loader's collate_fn, so that its workers do it during "
    "the step."};

const AdviceDefinition kKeepOfSamples{
    "keep_of_samples", {}, [](const AdviceContext& c) {
      return "Do not get whole samples in the loop" + atLine(c.finding.where) +
             ": read only what it needs of them (labels, sizes), or keep that from the first time.";
    }};

constexpr const char* kInTurn = "in turn";  // several environments

// What it does next depends on what the model does now: it cannot run ahead.
const AdviceDefinition kSeveralEnvironments{
    "several_environments", {}, [](const AdviceContext& c) {
      if (c.advice.change.from == kInTurn)
        return "Make a step of an environment cheaper" + atLine(c.finding.where) +
               ", as arrays of all of them or compiled: they are stepped in turn. Processes "
               "(AsyncVectorEnv, SubprocVecEnv) gain only where a step takes longer than the "
               "messages between them.";
      return "Step several environments at once" + atLine(c.finding.where) +
             ": in separate processes or as arrays (gymnasium.vector), so that one forward pass "
             "serves all of them. Or compile the simulation.";
    }};

const AdviceDefinition kFirstWorkers{
    "first_workers",
    "Give the DataLoader workers (num_workers=N, persistent_workers=True): without them each "
    "batch is made in the training process, between steps. `stallprof run` predicts how many."};

const AdviceDefinition kLaterResults{
    "later_results", {}, [](const AdviceContext& c) {
      return "Do not wait for the results of a step before the next batch is made (" +
             c.advice.change.name +
             "): JAX computes them meanwhile. Keep the loss as an array, and read it every N steps "
             "(float(), numpy.asarray(), block_until_ready(), print).";
    }};

// JAX computes beside the training thread, which waits for it at that line. Other frameworks do so
// on a device: compute.sync_points.
Maybe<Advice> laterResults(const Evidence& e, double made) {
  const HotQuery awaits{Side::kTrainer, Phase::kCompute, {}, HotQuery::Of::kAll, kAwaitsJax};
  const Maybe<HotFunction> line = hottest(e, awaits);
  const StackFacts& s = e.trainer.stacks;
  if (!line || s.trainerTime <= 0) return {};
  double seconds = 0;
  for (const FunctionSamples& f : s.functions)
    if (counted(f, awaits) > 0) seconds += f.seconds;
  const double awaited = std::min(e.compute, seconds / s.trainerTime);
  if (awaited <= kNotable) return {};
  return adviceOf(kLaterResults, {"code", nameOf(line->where), "each step", "every N steps"},
                  madeMeanwhile(e, made, awaited), "a NaN loss is detected later");
}

// Below a file of a library's.
bool mostlyBelow(const Evidence& e, Phase phase, std::initializer_list<std::string_view> files) {
  return mostlyMade(e, phase, [&](const FunctionSamples& f) {
    for (StackId stack = f.hot; !stack.none(); stack = e.trace.stack(stack).caller) {
      const std::string_view file = e.trace.text(e.trace.stack(stack).file);
      if (std::any_of(files.begin(), files.end(), [&](auto end) { return file.ends_with(end); }))
        return true;
    }
    return false;
  });
}

// Without the hook (attached, python -I) only stacks show that a loader of PyTorch's makes them.
bool belowTorchLoader(const Evidence& e, Phase phase) {
  return mostlyBelow(e, phase, {"torch/utils/data/_utils/fetch.py"});
}

// Those that a vector of environments steps one after the other.
bool steppedInTurn(const Evidence& e, Phase phase) {
  return mostlyBelow(e, phase,
                     {"gymnasium/vector/sync_vector_env.py", "gym/vector/sync_vector_env.py",
                      "stable_baselines3/common/vec_env/dummy_vec_env.py"});
}

Maybe<HotFunction> makingLine(const Evidence& e, Phase phase) {
  return hottest(e, {Side::kTrainer, phase, {}, HotQuery::Of::kAll});
}

void pointAtMaking(Finding& f, const Maybe<HotFunction>& line) {
  if (!line) return;
  f.where = line->where;
  point(f, *line);
  addEvidence(f, "most of it is in {}", {textWord(nameOf(*line))});
}

// No loader that the hook knows: the training thread's own stacks show that it makes its data, and
// no thread beside it does.
Maybe<Finding> withoutLoader(const Evidence& e) {
  // What it waits for otherwise, others may make: a thread of its own that sleeps, a pool.
  const double made = e.extract + e.transform;
  if (!e.trainer.withoutFetches() || made <= kNotable) return {};
  if (e.trainer.native.seen && e.extract > e.transform) return {};  // how it reads says more
  // A few samples of many are no share of the time.
  const SampleSum& seen = e.trainer.stacks.trainer;
  if (seen.samples > 0 && shareOf(made * seen.samples, seen).low <= kNotable / 2) return {};
  // Making a batch may be reading it, most of the time.
  const Phase phase = e.transform >= e.extract ? Phase::kTransform : Phase::kExtract;
  const Maybe<HotFunction> line = makingLine(e, phase);
  // Tasks of its event loop may well prepare batches ahead.
  const bool awaits = line && line->rule == kAwaitsNetwork;
  Finding f = loaderFinding(
      e, made,
      awaits ? "Batches are awaited in the training thread's event loop" : kInProcessTitle);
  f.phase = phase;
  f.confidence = shareConfidence(e);
  addEvidence(f, awaits ? "the training thread waits in its event loop for responses"
                        : "the training thread itself reads and transforms; no data is prepared "
                          "ahead");
  addWaitEvidence(f, e);
  addCoresEvidence(f, e);
  addRereadEvidence(f, e);
  pointAtMaking(f, line);
  if (awaits) return withAdvice(f, {moreRequests(e, "these tasks", made), loadAhead(e, made)});
  if (inEnvironment(e, phase))
    return withAdvice(
        f, {steppedInTurn(e, phase)
                ? adviceOf(kSeveralEnvironments, {"code", "environments", kInTurn, "at once"}, {})
                : adviceOf(kSeveralEnvironments, {"code", "environments", "1", "several"}, {},
                           "the model is trained on other episodes")});
  if (belowTorchLoader(e, phase))
    return withAdvice(
        f, {adviceOf(kFirstWorkers, {"code", "num_workers", "0", "more"},
                     madeBeside(e, made, Beside::kProcess),
                     "a process for each, and its memory; the same code may take more CPU there")});
  Advice ahead = loadAhead(e, made);
  if (phase == Phase::kTransform && !threadGains(e, made)) {
    const StackFacts& s = e.trainer.stacks;
    addEvidence(f, "making data holds the GIL {} of its time, the step {}",
                {ratioWord(s.lockOfData.ratio()), ratioWord(s.lockOfCompute.ratio())});
    ahead = adviceOf(kLoadInProcesses, {"code", "loading", "in the loop", "in processes"},
                     madeBeside(e, made, Beside::kProcess), "batches are copied between processes");
  }
  // Full cores leave it little: cheaper batches are then the other way.
  if (e.run.rereads || ahead.predicted.speedup.value_or(kWorthIt) < kWorthIt)
    offer(f, cheaperBatches(e));
  return withAdvice(f, {laterResults(e, made), ahead});
}

// Samples of the data set that the loop gets itself: for the weights of a sampler, say.
bool readsDataset(const Maybe<HotFunction>& line) {
  const std::string function = line ? line->where.function.raw() : "";
  return function.ends_with("__getitem__") || function.ends_with("__getitems__");
}

// The loader's batches are not what the model gets: the loop goes on with them. Or it makes data
// beside those.
Maybe<Finding> inLoop(const Evidence& e) {
  const Maybe<HotFunction> line = makingLine(e, Phase::kTransform);
  const bool reads = readsDataset(line);
  Finding f =
      loaderFinding(e, e.inLoop,
                    reads ? "The loop reads samples of the data set itself, beside its loader"
                          : "Batches are finished in the training loop, not by the loader");
  f.confidence = std::min(Confidence::kMedium, shareConfidence(e));
  addEvidence(f,
              reads ? "the loop makes samples outside of the loader {} of the time"
                    : "the loop makes data between loader and model {} of the time",
              {ratioWord(e.inLoop)}, ratioWord(e.inLoop));
  addCoresEvidence(f, e);
  pointAtMaking(f, line);
  if (reads)
    return withAdvice(f, {adviceOf(kKeepOfSamples, {"code", "samples", "read again", "kept"},
                                   assuming("a tenth of the time remains, at best none",
                                            withoutOverhead(e, e.inLoop, 0.1, 0.5, 0)),
                                   "what is kept takes memory")});
  // What leaves the loop takes a core elsewhere: no more leaves than cores are idle.
  const double leaves = std::min(e.inLoop, (1 - e.coresUsed) * e.run.cores);
  Prediction gain;
  if (leaves > kNotable)
    gain = assuming("its workers do it in time, on separate cores",
                    withoutOverhead(e, leaves, 0.2, 0.9, 0));
  return withAdvice(f, {adviceOf(kIntoLoader, {"code", "loading", "in the loop", "in the loader"},
                                 std::move(gain), "additional workers, and cores for them")});
}

// tf.data's threads call the program's Python code (from_generator, py_function).
Maybe<Finding> inTensorFlow(const Evidence& e) {
  if (!threadsFallBehind(e) || threadsLackCores(e) || !pythonFallsBehind(e)) return {};
  Finding f = threadsFinding(e, "Batches are made one at a time, by Python code under tf.data");
  addEvidence(f, "their Python code is on a CPU {} of the time",
              {ratioWord(std::min(1.0, pythonOfThreads(e)))});
  if (const auto line = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kRunning})) {
    f.where = line->where;
    point(f, *line);
    addEvidence(f, "most of it is in {}", {textWord(nameOf(*line))});
  }
  return withAdvice(f, {adviceOf(kOutOfPython, {"code", "loading", "python", "processes"},
                                 moreAtOnce(e, f.shareRatio, 2, "threads or processes make"),
                                 "batches are copied between processes")});
}

Maybe<Finding> inProcess(const Evidence& e) {
  if (!e.loader && !e.trainer.threads.empty()) return inTensorFlow(e);
  if (!e.loader) return withoutLoader(e);
  if (e.inLoop > kNotable && (e.workers() > 0 || e.inLoop > e.wait)) return inLoop(e);
  if (e.workers() > 0 || e.wait <= kNotable) return {};
  if (samplersDominate(e, e.wait)) return samplersFinding(e, e.wait);
  Finding f = loaderFinding(e, e.wait, kInProcessTitle);
  addEvidence(f, "num_workers is 0: every fetch delays the step", {}, countWord(0));
  addWaitEvidence(f, e);
  addBatchEvidence(f, e);
  addRereadEvidence(f, e);
  addCoresEvidence(f, e);
  if (e.transform > kNotable) return withAdvice(f, {moreWorkers(e), cheaperBatches(e)});
  return withAdvice(f, {moreWorkers(e)});
}

}  // namespace

extern const FindingDefinition kInProcess(
    "transform.in_process", inProcess,
    offers(kMoreWorkers, kOfflinePreprocess, kReadOnce, kWholeBatches, kLoadAhead, kMoreRequests,
           kLoadInProcesses, kFirstWorkers, kIntoLoader, kKeepOfSamples, kOutOfPython,
           kSeveralEnvironments, kCheaperSampler, kLaterResults),
    within("transform.cpu_saturated", "transform.too_few_workers"),
    {.cause =
         R"(The training process makes the data itself, because the loader has no workers or the loop
  continues with its batches. No step is computed during that time.)",
     .rule =
         R"(num_workers is 0 and fetching takes over 5 % of the window. With a loader: the user's
  own functions between its batches and the model do; its sampler is named if it takes most. No
  loader: the training thread reads and transforms for over 5 %, and no other thread makes data. Or
  tf.data threads run Python for over half of the wait, one at a time, with cores idle.)",
     .fixes =
         R"(- num_workers=N and persistent_workers=True, within cores and memory. One core: cheaper work.
- Files read over and over: once. Whole batches of a TensorDataset. A sampler's indices as arrays.
- Work of the loop on a batch: move it to the data set or collate_fn.
- No loader: a thread, or processes (code that holds the GIL, tf.data), or several environments;
  in an event loop (asyncio) more requests at once.)",
     .wrong = R"(batches are tiny (under a millisecond): sending them costs more, as the gain
  shows. Datasets that cannot be pickled need the fork start method. Workers cannot make data
  on a device.)"});

}  // namespace stallprof
