// SPDX-License-Identifier: MIT
// periodic.evaluation: evaluation takes a large part of the training time.
#include <algorithm>

#include "analysis/findings/periodic/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kRarerEvaluation{
    "rarer_evaluation",
    "Evaluate half as often, or on a fixed part of the data, or in a job of its own from "
    "the checkpoints."};

// By epochs that the hook saw; by what a library calls evaluation where samples are sure of more.
Maybe<Finding> evaluation(const Evidence& e) {
  const Share seen = shareOfOverhead(e, OverheadKind::kEvaluation);
  const double share = seen.low > std::max(kNotable, e.evaluation) ? seen.value : e.evaluation;
  if (share <= kNotable) return {};
  Finding f = overheadFinding(e, share, "Evaluation takes a large part of the training time");
  addEvidence(f, "evaluation takes {} of the time", {ratioWord(share)});
  std::int64_t epochs = 0;
  for (const Epoch& p : e.trainer.epochs)
    epochs += p.evaluation && p.end > e.trainer.windowBegin && p.begin < e.trainer.windowEnd;
  if (epochs > 0)
    addEvidence(f, "{}{} in {} steps",
                {countWord(epochs), textWord(epochs == 1 ? " epoch" : " epochs"),
                 countWord(static_cast<std::int64_t>(e.trainer.windowSteps()))});
  pointAtOverhead(f, e, OverheadKind::kEvaluation);
  return withAdvice(
      f, {adviceOf(kRarerEvaluation, {"code", "evaluation_interval", "1", "2"},
                   withoutOverhead(share, 0.5, 0.55, 0.45), "a bad run is noticed later")});
}

}  // namespace

extern const FindingDefinition kEvaluation(
    "periodic.evaluation", evaluation, offers(kRarerEvaluation),
    {.cause = R"(Evaluation epochs take a large part of the time.)",
     .rule = R"(epochs without an optimizer step, or what a library is known to call
  evaluation, are over 5 % of the window.)",
     .fixes = R"(- Evaluate less often, on a subset, or in another job.)",
     .wrong = R"(the window holds an unusual number of evaluations.)"});

}  // namespace stallprof
