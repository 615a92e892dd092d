// SPDX-License-Identifier: MIT
// periodic.evaluation: evaluation takes a large part of the training time.
#include <algorithm>
#include <map>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"
#include "analysis/steps/timeline.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

// The device's work of it leaves with it.
const AdviceDefinition kSeparateEvaluation =
    deviceAdvice("separate_evaluation",
                 "Evaluate in a separate job, from the checkpoints, on another device or other "
                 "cores, while the training continues.");
const AdviceDefinition kRarerEvaluation =
    deviceAdvice("rarer_evaluation", "Evaluate half as often, or on a fixed part of the data.");
const AdviceDefinition kRarerWork =
    deviceAdvice("rarer_work", "Do this work half as often, or make it cheaper.");

const AdviceDefinition kPersistentEvaluation{
    "persistent_evaluation", {}, [](const AdviceContext& c) {
      return "Pass " + settingOf(c, "persistent_workers") + "=True" + atSetting(c) +
             ": the evaluation's workers then wait for the next one instead of being restarted.";
    }};

constexpr std::string_view kForwardAlone =
    "by function names, there were more forward passes than the backward passes explain";

constexpr double kItsWork = 0.90;  // of the time of a program that is not seen to train
constexpr double kMinStep = 0.02;  // of the time is left, whatever goes
// Updates for each interval from eval() to train(), at least: with fewer a model may act in it.
constexpr std::int64_t kUpdatesBetween = 4;

const AdviceDefinition kCheaperEvaluation{"cheaper_evaluation", {}, [](const AdviceContext& c) {
                                            return "Make " + c.advice.change.name +
                                                   " cheaper: work on arrays instead of values one "
                                                   "by one, or use what the library computes "
                                                   "itself.";
                                          }};

// Half of it and more is in one function of the program's own, or in C that this calls itself.
Maybe<Advice> cheaperEvaluation(const Evidence& e, double share) {
  const Maybe<HotFunction> own =
      hottest(e, {Side::kTrainer, {}, OverheadKind::kEvaluation, HotQuery::Of::kRunning});
  const double all = allOf(e, {Side::kTrainer, {}, OverheadKind::kEvaluation});
  if (!own || 2 * own->samples < all || own->hot.file != own->where.file) return {};
  return adviceOf(kCheaperEvaluation, {"code", nameOf(own->hot), "", ""},
                  assuming("it can be made ten times as fast, at best fifty times",
                           reducedTo(share * own->samples / all, 0.1, 0.5, 0.02, kMinStep)),
                  "another order of sums rounds differently");
}

// Of the program's own loop, from eval() to train().
struct Evaluations {
  std::int64_t count = 0;
  double seconds = 0;
  const PhaseSpan* longest = nullptr;
};
Evaluations evaluationsIn(const Evidence& e) {
  Evaluations found;
  for (const auto& span : e.trace.spans) {
    if (span.data.thread != e.trainer.thread || !isEvaluation(e.trace, span.data) ||
        !intervalOf(span).overlaps(e.trainer.windowInterval()))
      continue;
    ++found.count;
    found.seconds += stallprof::seconds(span.data.duration);
    if (!found.longest || span.data.duration > found.longest->duration) found.longest = &span.data;
  }
  return found;
}

// The loader whose workers take most of the time to start, of those of evaluations in the window.
struct Starting {
  double share = 0;  // of the window, all loaders
  const LoaderSeen* loader = nullptr;
  double again = 0;  // of the loader's line: not its loaders' first start
};
Starting startingIn(const Evidence& e) {
  Starting found;
  std::map<std::pair<StringId, std::uint32_t>, Starting> lines;
  std::map<std::uint32_t, const LoaderSeen*> loaders;
  for (const auto& row : e.trace.loaders)
    if (row.data.process == e.trainer.process) loaders[row.data.loader] = &row.data;
  eachEpochOfWindow(e.trainer, [&](const Epoch& epoch, bool first) {
    if (!epoch.evaluation) return;
    const double share = seconds(epoch.starting) / e.window;
    found.share += share;
    const auto of = loaders.find(epoch.loader);
    if (of == loaders.end()) return;
    Starting& line = lines[{of->second->file, of->second->line}];
    line.loader = of->second;
    line.share += share;
    line.again += first ? 0 : share;
  });
  const auto longest = std::max_element(
      lines.begin(), lines.end(),
      [](const auto& a, const auto& b) { return a.second.share < b.second.share; });
  if (longest == lines.end()) return found;
  return {found.share, longest->second.loader, longest->second.again};
}

// Where the line of the trainer's loader does not make the evaluation's as well: then it is
// load.worker_startup's.
Maybe<Advice> persistentEvaluation(const Evidence& e, const Starting& starting) {
  const LoaderSeen* loader = starting.loader;
  if (!loader || loader->persistent || loader->workers < 1 || starting.again < kNotable) return {};
  // What that setting does for the trainer's loader at the same line holds for this one, too.
  const bool same = e.loader && e.loader->file == loader->file && e.loader->line == loader->line;
  if (same && e.loader->workers > 0 && !e.loader->persistent) return {};
  return adviceOf(kPersistentEvaluation, {"loader_arg", "persistent_workers", "False", "True"},
                  reducedTo(starting.again, 0.1, 0.3, 0, kMinStep),
                  "the workers' memory stays in use while the model trains");
}

// predict() comes in most steps, or as often as samples can distinguish: of samples in a random
// order n p (1 - p) would be the first of a run.
bool predictsInSteps(const StackFacts& s, std::int64_t updates) {
  if (s.trainerTime <= 0) return false;
  const double p = std::min(1.0, s.predicting / s.trainerTime);
  const double atRandom = s.trainer.samples * p * (1 - p);
  return s.predictions > std::min(static_cast<double>(updates), atRandom) / 2;
}

// Between eval() and train() of the program's own.
void addIntervals(Finding& f, const Evidence& e, const Evaluations& own, double share) {
  if (own.count == 0) return;
  addEvidence(
      f,
      own.count == 1 ? "{} from eval() to train(), {}, in {} steps"
                     : "{} from eval() to train(), {} each, in {} steps",
      {countWord(own.count, "interval"), timeWord(own.seconds / static_cast<double>(own.count)),
       countWord(static_cast<std::int64_t>(e.trainer.windowSteps()))});
  if (2 * own.seconds > share * e.window)
    f.where = lineAt(e.trace, own.longest->file, own.longest->line);
}

// Of samples: nothing but where it is, and that few steps have it, says that it evaluates.
bool knownByPlace(const Evidence& e) {
  const auto line = hottest(e, {Side::kTrainer, {}, OverheadKind::kEvaluation, {}});
  return line && line->rule == kOwnEvaluation;
}

// By epochs that the hook saw, or eval() and train() around them; by what a library calls
// evaluation where samples are sure of more.
Maybe<Finding> evaluation(const Evidence& e) {
  const Share seen = shareOfOverhead(e, OverheadKind::kEvaluation);
  const bool sampled = seen.low > std::max(kNotable, e.evaluation);
  const Share of = sampled ? seen : Share{e.evaluation, e.evaluation, e.evaluation};
  const double share = of.value;
  if (share <= kNotable || (share > kItsWork && e.trainer.optimizerSteps == 0)) return {};
  std::int64_t epochs = 0;
  for (const Epoch& p : e.trainer.epochs)
    epochs += p.evaluation && p.end > e.trainer.windowBegin && p.begin < e.trainer.windowEnd;
  const Evaluations own = evaluationsIn(e);
  const bool byPlace = sampled && epochs == 0 && own.count == 0 && knownByPlace(e);
  Finding f = overheadFinding(e, share,
                              byPlace ? "Work of a few long steps takes a large part of the time"
                                      : "Evaluation takes a large part of the training time");
  addEvidence(f,
              byPlace ? "work that few steps do after their update, as an evaluation, takes {} of "
                        "the time"
                      : "evaluation takes {} of the time",
              {ratioWord(share)});
  if (sampled) addIntervalEvidence(f, of, e.trainer.stacks.trainer.samples);
  if (of.high - share > share / 2) f.confidence = lowered(f.confidence);
  if (epochs > 0)
    addEvidence(f, "{} in {} steps",
                {countWord(epochs, "evaluation"),
                 countWord(static_cast<std::int64_t>(e.trainer.windowSteps()))});
  const Starting starting = startingIn(e);
  if (starting.share > kNotable)
    addEvidence(
        f,
        "starting and ending its workers, and waiting for their first batch, takes {} of the "
        "time",
        {ratioWord(starting.share)});
  addIntervals(f, e, own, share);
  const auto updates = static_cast<std::int64_t>(e.trainer.optimizerSteps);
  if (own.count * kUpdatesBetween > updates && updates > 0)
    f.confidence = std::min(f.confidence, Confidence::kMedium);
  // In most steps it is a part of the step (adversarial examples, pseudo-labels, a model that
  // acts).
  const StackFacts& s = e.trainer.stacks;
  const double kinds = s.overheads[static_cast<std::size_t>(OverheadKind::kEvaluation)];
  const bool predicted = sampled && 2 * s.predicting > kinds && predictsInSteps(s, updates);
  const bool inSteps = updates > 0 && (2 * own.count > updates || predicted);
  if (inSteps) f.confidence = Confidence::kLow;
  if (std::max(epochs, own.count) == 1)
    f.confidence = lowered(f.confidence);  // how often is not known
  if (e.trainer.native.passes) addEvidence(f, kForwardAlone);
  Prediction rarer = reducedTo(share, 0.5, 0.55, 0.45, kMinStep);
  rarer.low = reducedTo(of.low, 0.5, 0.55, 0.45, kMinStep).low;
  rarer.high = reducedTo(of.high, 0.5, 0.55, 0.45, kMinStep).high;
  if (inSteps)
    rarer =
        assuming(predicted ? "the predictions of the model in each step are not its training data"
                           : "work in eval() mode is not part of a training step",
                 std::move(rarer));
  pointAtOverhead(f, e, OverheadKind::kEvaluation);
  Maybe<Advice> persistent = persistentEvaluation(e, starting);
  if (persistent) {
    const LoaderOrigin origin = originOf(e.trace, *starting.loader);
    f.where = lineAt(e.trace, origin.file, origin.line);
  }
  if (byPlace)
    return withAdvice(f, {adviceOf(kRarerWork, {"code", "interval", "1", "2"}, std::move(rarer),
                                   "what it finds is known later")});
  return withAdvice(
      f, {std::move(persistent), cheaperEvaluation(e, share),
          adviceOf(kSeparateEvaluation, {"code", "evaluation", "in the loop", "in its own job"},
                   assuming("another device, or other cores, evaluate at the same time",
                            reducedTo(share, 0, 0.1, 0, kMinStep)),
                   "a second model in memory, and a checkpoint for each evaluation"),
          adviceOf(kRarerEvaluation, {"code", "evaluation_interval", "1", "2"}, std::move(rarer),
                   "a bad run is detected later")});
}

}  // namespace

extern const FindingDefinition kEvaluation(
    "periodic.evaluation", evaluation,
    offers(kSeparateEvaluation, kRarerEvaluation, kRarerWork, kPersistentEvaluation,
           kCheaperEvaluation),
    {.cause = R"(Evaluation takes a large part of the time.)",
     .rule = R"(one of these takes over 5 % of the window:
  - epochs without an optimizer step, or known evaluation functions of a library;
  - work between eval() and train() of a module, without an update; where the first of these came
    before the first update, in a function named for it or over a loader;
  - the user's own functions that run the model and never update it, in a few steps that are far
    longer than the others;
  - without an interpreter: known metrics, or repeated computation with forward passes beyond those
    that backward passes explain, by function names.)",
     .fixes = R"(- persistent_workers=True for its loader, where its workers are started each time.
- Evaluate less often, on a subset, or in another job, from the checkpoints.)",
     .wrong = R"(the window contains an unusual number of evaluations. Or work in eval() mode, in
  predict() or in forward passes makes training data, as in reinforcement learning. Confidence is at
  most medium with under four updates per interval, low with under two or predict() in most steps.)"});

}  // namespace stallprof
