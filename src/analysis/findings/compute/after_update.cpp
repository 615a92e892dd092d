// SPDX-License-Identifier: MIT
// compute.after_update: own code between the update of the model and the next batch.
#include <algorithm>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

constexpr double kMuchAfter = 0.10;  // of the training thread's time

const AdviceDefinition kRarerExtras{
    "rarer_extras", {}, [](const AdviceContext& c) {
      return "Do less of it after each update" + atLine(c.finding.where) +
             ": metrics every N steps, averages and copies of the model by one operator for all "
             "parameters (torch._foreach_*, averaged in place), values kept as tensors until they "
             "are read together.";
    }};

Maybe<Finding> afterUpdate(const Evidence& e) {
  Maybe<Finding> f = sampledOverhead(e, OverheadKind::kAfterUpdate, kMuchAfter,
                                     "Code after the update of the model holds up the next step",
                                     "{} of the time lies below the optimizer's step in the loop, "
                                     "and is no saving, evaluating or logging that a rule knows");
  if (!f) return {};
  f->confidence = std::min(f->confidence, Confidence::kMedium);  // by its place alone
  return withAdvice(*f, {adviceOf(kRarerExtras, {"code", "after the update", "each step", "rarer"},
                                  withoutHalf(e, f->shareRatio),
                                  "coarser metrics, where they are made less often")});
}

}  // namespace

extern const FindingDefinition kAfterUpdate(
    "compute.after_update", afterUpdate, offers(kRarerExtras),
    within("compute.python_overhead", "compute.small_ops"),
    {.cause = R"(Each step does more than the model needs: once the optimizer has stepped, the loop
  goes on with metrics, averages or copies of the model before it takes the next batch.)",
     .rule = R"(over 10 % of the samples of the training thread (at the low end of a 90 %
  interval) are compute at lines below the last one that runs backward or the optimizer, in
  a function where the optimizer steps.)",
     .fixes = R"(- Metrics and copies every N steps, not at each.
- One operator for all parameters instead of a loop over them.
- Values kept as tensors, read together.)",
     .wrong = R"(the loop prepares its next batch there, by code that no rule knows: make
  it ahead instead. An average of the weights that the method needs can only be made
  cheaper.)"});

}  // namespace stallprof
