// SPDX-License-Identifier: MIT
// periodic.pause: now and then the training thread is asleep, or waits for another process.
#include <algorithm>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kWaitBeside{
    "wait_beside", {}, [](const AdviceContext& c) {
      return "Wait beside the training" + atLine(c.finding.where) +
             ": start the other program without waiting for its end, or let a thread wait for it; "
             "leave out a sleep that nothing needs.";
    }};

Maybe<Finding> pauses(const Evidence& e) {
  Maybe<Finding> f = sampledOverhead(e, OverheadKind::kPause, kNotable,
                                     "Training sleeps now and then, or waits for another program",
                                     "in a few long steps the training thread sleeps, or waits for "
                                     "another process, {} of the time");
  if (!f) return {};
  f->confidence = std::min(f->confidence, Confidence::kMedium);  // what for is not known
  return withAdvice(*f, {adviceOf(kWaitBeside, {"code", "wait", "in the loop", "beside it"},
                                  assuming("a tenth of the time is left, at best a fiftieth",
                                           withoutOverhead(e, f->shareRatio, 0.1, 0.5, 0.02)),
                                  "what it waits for may be needed before the next step")});
}

}  // namespace

extern const FindingDefinition kPause(
    "periodic.pause", pauses, offers(kWaitBeside),
    {.cause = R"(The training thread does nothing for long, now and then: it sleeps, or waits for a
  program that it started.)",
     .rule = R"(over 5 % of the samples of the training thread (at the low end of a 90 %
  interval) are at lines of the program's own where it sleeps, or waits for a child process
  or a pipe, in at least two steps that are far longer than the others, and in no others.)",
     .fixes = R"(- Start the other program, and go on; ask for its end later.
- Upload or convert in a thread or another process.
- Leave out sleeps that nothing needs.)",
     .wrong = R"(the other program makes the data of the next steps: start it ahead. A sleep that
  keeps a limit (heat, a service's rate) cannot leave.)"});

}  // namespace stallprof
