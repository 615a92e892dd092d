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
      return "Do less work after each update" + atLine(c.finding.where) +
             ": save images, compute or send metrics every N steps, average or copy the model with "
             "one operator "
             "for all parameters (torch._foreach_*, in place), and keep values as tensors until "
             "you read them together.";
    }};

Maybe<Finding> afterUpdate(const Evidence& e) {
  Maybe<Finding> f = sampledOverhead(e, OverheadKind::kAfterUpdate, kMuchAfter,
                                     "Code after the model update delays the next step",
                                     "{} of the time is at lines after the optimizer step, outside "
                                     "of known saving, evaluation and logging");
  if (!f) return {};
  f->confidence = std::min(f->confidence, Confidence::kMedium);  // by its place alone
  if (2 * e.waitsAfter > f->shareRatio)
    f->title = "Waiting after the model update delays the next step";
  return withAdvice(*f, {adviceOf(kRarerExtras, {"code", "after the update", "each step", "rarer"},
                                  withoutHalf(e, f->shareRatio),
                                  "metrics that are computed less often are coarser")});
}

}  // namespace

extern const FindingDefinition kAfterUpdate(
    "compute.after_update", afterUpdate, offers(kRarerExtras),
    within("compute.python_overhead", "compute.small_ops"),
    {.cause =
         R"(Each step does more work than the model needs. After the optimizer step, the loop computes
  or sends metrics, averages or copies of the model before it gets the next batch.)",
     .rule = R"(over 10 % of the training thread's samples (at the low end of a 90 % interval) are
  compute at lines below the last line that runs backward or the optimizer, in a function that runs
  the optimizer, or in a library's callback at a step's end (on_train_batch_end, on_step_end); or,
  with a known loader, wait (for a network, a program, a lock, a sleep) after the last update of a
  step.)",
     .fixes = R"(- Metrics, images and copies every N steps, not in each step.
- One operator for all parameters instead of a loop over them.
- Keep values as tensors, and read them together.)",
     .wrong = R"(the loop prepares its next batch there, in code that no rule matches: prepare it
  ahead of time instead. An average of the weights that the method needs can only be made cheaper.)"});

}  // namespace stallprof
