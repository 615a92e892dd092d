// SPDX-License-Identifier: MIT
// periodic.evaluation: evaluation takes a large part of the training time.
#include <algorithm>

#include "analysis/facts/source_lines.h"
#include "analysis/findings/overhead.h"
#include "analysis/steps/timeline.h"

namespace stallprof {
namespace {

// The device's work of it leaves with it.
const AdviceDefinition kSeparateEvaluation = deviceAdvice(
    "separate_evaluation",
    "Evaluate in a job of its own, from the checkpoints, on another device or other cores: the "
    "training goes on meanwhile.");
const AdviceDefinition kRarerEvaluation =
    deviceAdvice("rarer_evaluation", "Evaluate half as often, or on a fixed part of the data.");

constexpr std::string_view kForwardAlone =
    "by their names, more functions of forward passes ran than those of backward ones explain";

constexpr double kItsWork = 0.90;  // of the time of a program that is not seen to train
constexpr double kMinStep = 0.02;  // of the time is left, whatever goes
// Updates for each interval from eval() to train(), at least: with fewer a model may act in it.
constexpr std::int64_t kUpdates = 4;

// Of the program's own loop, from eval() to train().
struct Evaluations {
  std::int64_t count = 0;
  const PhaseSpan* longest = nullptr;
};
Evaluations evaluationsIn(const Evidence& e) {
  Evaluations found;
  for (const auto& span : e.trace.spans) {
    if (span.data.thread != e.trainer.thread || !isEvaluation(e.trace, span.data) ||
        !intervalOf(span).overlaps(e.trainer.windowInterval()))
      continue;
    ++found.count;
    if (!found.longest || span.data.duration > found.longest->duration) found.longest = &span.data;
  }
  return found;
}

// predict() comes in most steps, or as often as samples can distinguish: of samples in a random
// order n p (1 - p) would be the first of a run.
bool predictsInSteps(const StackFacts& s, std::int64_t updates) {
  if (s.trainerTime <= 0) return false;
  const double p = std::min(1.0, s.predicting / s.trainerTime);
  const double atRandom = s.trainer.samples * p * (1 - p);
  return s.predictions > std::min(static_cast<double>(updates), atRandom) / 2;
}

// By epochs that the hook saw, or eval() and train() around them; by what a library calls
// evaluation where samples are sure of more.
Maybe<Finding> evaluation(const Evidence& e) {
  const Share seen = shareOfOverhead(e, OverheadKind::kEvaluation);
  const bool sampled = seen.low > std::max(kNotable, e.evaluation);
  const Share of = sampled ? seen : Share{e.evaluation, e.evaluation, e.evaluation};
  const double share = of.value;
  if (share <= kNotable || (share > kItsWork && e.trainer.optimizerSteps == 0)) return {};
  Finding f = overheadFinding(e, share, "Evaluation takes a large part of the training time");
  addEvidence(f, "evaluation takes {} of the time", {ratioWord(share)});
  if (sampled) addIntervalEvidence(f, of, e.trainer.stacks.trainer.samples);
  if (of.high - share > share / 2) f.confidence = lowered(f.confidence);
  std::int64_t epochs = 0;
  for (const Epoch& p : e.trainer.epochs)
    epochs += p.evaluation && p.end > e.trainer.windowBegin && p.begin < e.trainer.windowEnd;
  if (epochs > 0)
    addEvidence(f, "{} in {} steps",
                {countWord(epochs, "evaluation"),
                 countWord(static_cast<std::int64_t>(e.trainer.windowSteps()))});
  const Evaluations own = evaluationsIn(e);
  if (own.count > 0) {
    addEvidence(f, "{} from eval() to train(), {} each, in {} steps",
                {countWord(own.count, "interval"),
                 timeWord(share * e.window / static_cast<double>(own.count)),
                 countWord(static_cast<std::int64_t>(e.trainer.windowSteps()))});
    f.where = lineAt(e.trace, own.longest->file, own.longest->line);
  }
  const auto updates = static_cast<std::int64_t>(e.trainer.optimizerSteps);
  if (own.count * kUpdates > updates && updates > 0)
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
    rarer = assuming(predicted ? "what the model predicts in each step is not what it is trained on"
                               : "what runs in eval() mode is no part of a training step",
                     std::move(rarer));
  pointAtOverhead(f, e, OverheadKind::kEvaluation);
  return withAdvice(
      f, {adviceOf(kSeparateEvaluation, {"code", "evaluation", "in the loop", "in its own job"},
                   assuming("another device, or other cores, evaluate meanwhile",
                            reducedTo(share, 0, 0.1, 0, kMinStep)),
                   "a second model in memory, and a checkpoint for each evaluation"),
          adviceOf(kRarerEvaluation, {"code", "evaluation_interval", "1", "2"}, std::move(rarer),
                   "a bad run is noticed later")});
}

}  // namespace

extern const FindingDefinition kEvaluation(
    "periodic.evaluation", evaluation, offers(kSeparateEvaluation, kRarerEvaluation),
    {.cause = R"(Evaluation takes a large part of the time.)",
     .rule = R"(epochs without an optimizer step, what a program does between eval() and train()
  of a module without an update, what a library is known to call evaluation, or what functions
  of the program's own do that run the model and never update it, in a few steps that are far
  longer than the others, are over 5 % of the window. In a program without an interpreter:
  computing, with forward passes in it, beyond what its backward passes explain, by the names
  of the functions, more than once; or metrics that a rule knows.)",
     .fixes = R"(- Evaluate in another job, from the checkpoints.
- Evaluate less often, or on a subset.)",
     .wrong = R"(the window holds an unusual number of evaluations. Or what is done in eval() mode,
  in predict() or in forward passes alone makes the data to train on, as a model that acts does in
  reinforcement learning: with fewer than four updates an interval the confidence is medium at
  most, with fewer than two, or predict() in most steps, low.)"});

}  // namespace stallprof
