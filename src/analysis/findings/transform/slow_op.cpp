// SPDX-License-Identifier: MIT
// transform.slow_op: one function holds much of the producers' CPU.

#include "analysis/describe/stack_table.h"
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/transform/batches.h"
#include "analysis/findings/transform/hints.h"

namespace stallprof {
namespace {

constexpr double kMuchOfCpu = 0.30;
constexpr double kWide = 0.10;  // an interval this far to a side costs a level of confidence

const AdviceDefinition kCheaperOp{"cheaper_op", {}, [](const AdviceContext& c) {
                                    return "Make " + c.advice.change.name +
                                           " cheaper, or call it less" + atLine(c.finding.where) +
                                           ": " + hintFor(c.finding.hot) + ".";
                                  }};

// How much faster it can be made is not known: twice, within a tenth and ten times.
Prediction cheaper(const Evidence& e, double share) {
  return predictScaled(e, &PipelineSettings::cpuScale, 1 - share * 0.5, 1 - share * 0.1,
                       1 - share * 0.9, "it can be made twice as fast, at best ten times");
}

Maybe<Finding> slowOp(const Evidence& e) {
  const SampleSum& all = e.trainer.stacks.makingRunning.all;
  const Maybe<HotFunction> op = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kRunning});
  if (!op) return {};
  const Share share = shareOf(op->samples, all);
  const double ofWindow = share.value * e.transform;
  if (share.low <= kMuchOfCpu || ofWindow <= kNotable) return {};
  Finding f = loaderFinding(e, ofWindow, "One function holds much of the time that batches take");
  f.where = op->where;
  point(f, *op);
  if (share.high - share.value > kWide || share.value - share.low > kWide)
    f.confidence = lowered(f.confidence);
  addEvidence(f, "{} of the CPU of making batches is in {}",
              {ratioWord(share.value), textWord(nameOf(*op))});
  addIntervalEvidence(
      f, share, all.samples,
      op->processes == 1 ? " in 1 process" : " in " + std::to_string(op->processes) + " processes");
  if (!op->rule.empty()) addEvidence(f, "by rule {}", {textWord(op->rule)});
  return withAdvice(
      f, {adviceOf(kCheaperOp, {"code", nameOf(op->hot), "", ""}, cheaper(e, share.value),
                   "the batches change where the cheaper way rounds or samples differently")});
}

}  // namespace

extern const FindingDefinition kSlowOp(
    "transform.slow_op", slowOp, offers(kCheaperOp),
    within("transform.in_process", "transform.cpu_saturated", "transform.too_few_workers"),
    {.cause = R"(One function takes a large part of the producers' CPU: the place to start.)",
     .rule = R"(one function is the innermost Python frame in over 30 % of the samples that
  found the producers on a CPU (at the low end of a 90 % interval), and that is over 5 % of
  the window. Time in C below a Python function counts as that function's.)",
     .fixes = R"(- Vectorise it or use a compiled equivalent.
- Move it to the batch, to the device, or before training.
- Shrink early: crop or resize before what is expensive.)",
     .wrong = R"(the function is where samples pile up for another reason, such as a
  lock. A line of your own that calls C directly is named as that line: check what it
  calls.)"});

}  // namespace stallprof
