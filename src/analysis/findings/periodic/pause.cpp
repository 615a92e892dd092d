// SPDX-License-Identifier: MIT
// periodic.pause: now and then the training thread is asleep, or waits for another process.
#include <algorithm>

#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kWaitBeside{
    "wait_beside", {}, [](const AdviceContext& c) {
      return "Wait in parallel with the training" + atLine(c.finding.where) +
             ": start the other program without waiting for its end, or let a thread wait for it. "
             "Remove unnecessary sleeps.";
    }};

Maybe<Finding> pauses(const Evidence& e) {
  Maybe<Finding> f = sampledOverhead(
      e, OverheadKind::kPause, kNotable, "Training sometimes sleeps, or waits for another program",
      "sleeping or waiting for another process in a few long steps takes {} of the time");
  if (!f) return {};
  f->confidence = std::min(f->confidence, Confidence::kMedium);  // what for is not known
  // What the other program computes is computed beside the step, by the same cores.
  const double cpu = e.run.jobCpuRatio.value_or(0);
  if (cpu > 1 - f->shareRatio)
    addEvidence(*f, "the job, that program included, uses {} of the usable cores on average",
                {ratioWord(cpu)});
  return withAdvice(*f, {adviceOf(kWaitBeside, {"code", "wait", "in the loop", "beside it"},
                                  reducedToTenth(e, f->shareRatio, cpu),
                                  "the next step may need the result of the wait")});
}

}  // namespace

extern const FindingDefinition kPause(
    "periodic.pause", pauses, offers(kWaitBeside),
    {.cause =
         R"(Sometimes the training thread is idle for a long time: it sleeps, or waits for a program that
  it started.)",
     .rule =
         R"(over 5 % of the samples of the training thread (at the low end of a 90 % interval) are
  at lines of the program's own code that sleep, or wait for a child process or a pipe. These lines
  occur in at least two steps that are far longer than the others, and in no other steps.)",
     .fixes = R"(- Start the other program without waiting, and check for its end later.
- Upload or convert in a thread or another process.
- Remove unnecessary sleeps.)",
     .wrong = R"(the other program makes the data of the next steps: start it ahead of time. A
  sleep that enforces a limit (heat, a service's rate) must stay.)"});

}  // namespace stallprof
