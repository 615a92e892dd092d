// SPDX-License-Identifier: MIT
// transform.slow_op: one function holds much of the producers' CPU.
#include <algorithm>

#include "analysis/findings/hot.h"
#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

constexpr double kMuch = 0.30;  // research 05 section 6, rule 9
constexpr double kWide = 0.10;  // an interval this far to a side costs a level of confidence

// How much faster it can be made is not known: twice, within a tenth and ten times.
Prediction cheaper(const Evidence& e, double share) {
  PipelineSettings likely = e.gains.base(), least = likely, most = likely;
  likely.cpuScale = 1 - share * 0.5;
  least.cpuScale = 1 - share * 0.1;
  most.cpuScale = 1 - share * 0.9;
  return e.gains.predict(likely, least, most);
}

}  // namespace

Maybe<Finding> slowOp(const Evidence& e) {
  const LookSum& all = e.trainer.stacks.makingRunning.all;
  const Maybe<HotFunction> op = hottest(e, {Side::kProducer, {}, {}, HotQuery::Of::kRunning});
  if (!op) return {};
  const Share share = shareOf(op->looks, all);
  const double ofWindow = share.value * e.transform;
  if (share.low <= kMuch || ofWindow <= kNotable) return {};
  Finding f = findingOf(e, "transform.slow_op", Phase::kTransform, ofWindow,
                        "One function holds much of the time that batches take");
  f.where = op->where;
  point(f, *op);
  if (share.high - share.value > kWide || share.value - share.low > kWide)
    f.confidence = lowered(f.confidence);
  tell(f, percent(share.value) + " of the CPU of making batches is in " + nameOf(*op), share.value,
       "ratio");
  tellInterval(
      f, share, all.looks,
      op->processes == 1 ? " in 1 process" : " in " + std::to_string(op->processes) + " processes");
  if (!op->rule.empty()) tell(f, "by rule " + op->rule);
  offer(f, adviceOf("cheaper_op", {"code", nameOf(op->hot), "", ""}, cheaper(e, share.value),
                    "the batches change where the cheaper way rounds or samples differently"));
  return f;
}

}  // namespace stallprof
