// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/findings/build.h"
#include "analysis/steps/timeline.h"
#include "analysis/verdict/rank.h"
#include "analysis/verdict/registry.h"
#include "classify/own_rules.h"

namespace stallprof {
namespace {

// Of inferred steps only what rules know distinguishes compute from the making of data: the
// program's own lines, and arrays, may be either.
bool computeKnown(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  const auto computes = [](const PhaseSamples& samples) {
    return samples.seconds[static_cast<std::size_t>(Phase::kCompute)];
  };
  return (e.trainer.source != StepSource::kInferred && e.trainer.source != StepSource::kNone) ||
         s.modelTime >= (1 - kMaxUnexplained) * (computes(s.step) + computes(s.gap));
}

// Compiling is not what the step is for, though nothing shows that it comes back.
bool compilesMuch(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  const double compiling = s.overheads[static_cast<std::size_t>(OverheadKind::kCompilation)];
  return compiling > kMaxUnexplained * s.trainerTime;
}

// What the program announces as periodic without a name that says what it is: no rule knows how to
// make it less.
bool announcesMuch(const Evidence& e) {
  Intervals others;
  for (const auto& span : e.trace.spans)
    if (span.data.thread == e.trainer.thread && span.data.phase == Phase::kPeriodic &&
        !isSave(e.trace, span.data) && !isEvaluation(e.trace, span.data))
      others.push_back(intervalOf(span));
  const Nanos length = lengthIn(joined(std::move(others)), e.trainer.windowInterval());
  return seconds(length) > kMaxUnexplained * e.window;
}

// Without steps: the thread is blocked for most of the time beside threads that make its data, and
// nothing says for what (a queue of a library's own, the interpreter's lock).
bool mayWaitForData(const Evidence& e) {
  constexpr double kOverHalf = 0.5;
  return e.trainer.source == StepSource::kNone && !e.trainer.threads.empty() && !e.device.seen &&
         e.trainerBlockedKnown && e.trainerBlocked - e.wait - e.periodic > kOverHalf;
}

bool nothingToFix(const Evidence& e) {
  // No rule knows how to fix a loader that is not PyTorch's: waiting for it is then no health.
  const bool otherLoader = !e.loader && e.trainer.loader >= 0 && e.wait > 1 - 1 / kWorthIt;
  return !otherLoader && !mayWaitForData(e) && !compilesMuch(e) && !announcesMuch(e) &&
         computeKnown(e) && (!e.trainer.steps.empty() || e.phaseOfHalf() == "compute") &&
         e.unexplained() <= kMaxUnexplained;
}

constexpr double kNeeded = 125;  // samples of the training thread: a fifth of a fifth is five

}  // namespace

bool annotated(const Evidence& e) {
  const TrainerFacts& t = e.trainer;
  return t.annotatedSteps() && seconds(t.split.annotated) >= (1 - kMaxUnexplained) * e.window;
}

bool pythonSeen(const Evidence& e) {
  if (annotated(e) || e.trainer.source == StepSource::kNone) return true;
  return e.loader != nullptr &&
         (e.trainer.source == StepSource::kHook || e.trainer.source == StepSource::kMarks ||
          e.trainer.source == StepSource::kNvtx || e.trainer.source == StepSource::kOptimizer);
}

Maybe<NoVerdict> fewSamples(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  const double all = s.trainer.samples;
  if (e.loader || annotated(e) || all <= 0 || all >= kNeeded) return {};
  double own = 0, data = 0;
  for (const FunctionSamples& f : s.functions) {
    if (f.side != Side::kTrainer) continue;
    if (f.rule == kOwnTrainer) own += f.samples;
    if (f.phase == Phase::kExtract || f.phase == Phase::kTransform) data += f.samples;
  }
  if (own + std::max(0.0, data - e.wait * all) <= kMaxUnexplained * all) return {};
  return NoVerdict{NoVerdict::Why::kFewSamples, all, kNeeded};
}

Maybe<NoVerdict> blindStep(const Evidence& e) {
  if (e.loader || annotated(e) || (e.device.timeline && e.device.bound())) return {};
  const bool seen = e.trainer.stacks.trainer.samples > 0 || e.trainer.native.seen;
  if (!seen && e.compute > 1 - kMaxUnexplained)
    return NoVerdict{NoVerdict::Why::kFewSamples, 0, kNeeded};
  if (e.trainerBlocked > kMaxUnexplained) return NoVerdict{NoVerdict::Why::kUnclear, 0, 0};
  return {};
}

Maybe<Finding> healthyFinding(const Evidence& e) {
  if (!nothingToFix(e)) return {};
  for (const FindingDefinition* definition : allFindings()) {
    Maybe<Finding> healthy = definition->healthy ? definition->find(e) : std::nullopt;
    if (!healthy) continue;
    healthy->confidence = std::min(healthy->confidence, highestConfidence(e));
    return healthy;
  }
  return {};
}

}  // namespace stallprof
