// SPDX-License-Identifier: MIT
// periodic.logging: writing logs holds up the steps.
#include "analysis/findings/loader_setting.h"
#include "analysis/findings/overhead.h"

namespace stallprof {
namespace {

const AdviceDefinition kRarerLogging{
    "rarer_logging", {}, [](const AdviceContext& c) {
      return "Log a tenth as often" + atLine(c.finding.where) +
             ", keep values as tensors until then, and write from a thread or a queue.";
    }};

const AdviceDefinition kNoProfiler{
    "no_profiler", {}, [](const AdviceContext& c) {
      return "Turn the profiler off" + atLine(c.finding.where) +
             ", or let it trace few steps (schedule=torch.profiler.schedule(wait=..., warmup=..., "
             "active=..., repeat=1)), without stacks, shapes and memory.";
    }};

// That the program profiles itself.
Maybe<Finding> profiled(const Evidence& e, Finding f) {
  const auto line = hottest(e, {Side::kTrainer, {}, OverheadKind::kLogging, {}});
  if (!line || line->rule != "torch.profiler") return {};
  f.title = "A profiler in the program delays the steps";
  f.evidence[0].text = "the training thread is in PyTorch's profiler or logs " +
                       ratioWord(f.shareRatio).text + " of the time";
  return withAdvice(f, {adviceOf(kNoProfiler, {"code", "profiler", "on", "off"},
                                 assuming("none of it remains, at worst half",
                                          withoutOverhead(e, f.shareRatio, 0, 0.5, 0)))});
}

Maybe<Finding> logging(const Evidence& e) {
  const Maybe<Finding> f =
      sampledOverhead(e, OverheadKind::kLogging, kNotable, "Logging delays the steps",
                      "the training thread logs {} of the time");
  if (!f) return {};
  if (auto profiler = profiled(e, *f)) return profiler;
  return withAdvice(*f, {adviceOf(kRarerLogging, {"code", "log_interval", "1", "10"},
                                  reducedToTenth(e, f->shareRatio), "coarser curves")});
}

}  // namespace

extern const FindingDefinition kLogging(
    "periodic.logging", logging, offers(kRarerLogging, kNoProfiler),
    {.cause = R"(Writing logs delays steps.)",
     .rule =
         R"(over 5 % of the samples of the training thread (at the low end of a 90 % interval) are
  in logging, a tracker, a progress bar or a plot. `stallprof explain --rules` lists these
  functions.)",
     .fixes = R"(- Log every N steps; buffer; write from a thread.
- PyTorch's profiler: off, or of few steps.)",
     .wrong = R"(reading the value causes a device sync, which takes the time. Work in the
  tracker's own thread or process is not counted, only delays of the training thread.)"});

}  // namespace stallprof
