// SPDX-License-Identifier: MIT
// compute.host_work: the device waits while the training thread does work of its own on the CPU.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/hot.h"

namespace stallprof {
namespace {

const AdviceDefinition kMoveHostWork{
    "move_host_work", {}, [](const AdviceContext& c) {
      const SourceLine& line = c.finding.where.known() ? c.finding.where : c.finding.hot;
      const std::string work = line.known() ? nameOf(line) : "the work of the training thread";
      return "Move " + work +
             " out of the step. If it makes data, let a loader's workers, a thread or a process "
             "make it ahead of time. Otherwise do it on the device, every N steps, or at lower "
             "cost.";
    }};

Maybe<Finding> hostWork(const Evidence& e) {
  const double gap = e.device.hostGaps;
  // Where others use the device its gaps are their turns.
  const double others = e.device.gauge ? e.device.gauge->othersRatio.value_or(0) : 0;
  if (gap <= kNotable || others > gap / 2) return {};
  Finding f = deviceFinding(e, gap, "The device waits while the training thread works on the CPU");
  addEvidence(f,
              "all devices are idle {} of the time, in gaps of 1 ms and more; in {} of these the "
              "training thread runs code of the step",
              {ratioWord(e.device.longGaps), ratioWord(gap / e.device.longGaps)});
  addBusyEvidence(f, e);
  if (const auto function =
          hottest(e, {Side::kTrainer, Phase::kCompute, {}, HotQuery::Of::kWhileIdle})) {
    point(f, *function);
    f.where = function->where;
    const double working = gap / e.device.longGaps * e.trainer.stacks.inLongGaps;
    addEvidence(
        f, "{} of that work in {}",
        {ratioWord(std::min(1.0, function->samples / working)), textWord(nameOf(*function))});
  }
  addTracedEvidence(f, e);
  return withAdvice(
      f, {adviceOf(kMoveHostWork, {"code", nameOf(f.hot), "on the training thread", "ahead"},
                   predictSaved(e, {.own = gap}, {0.5, 0.1},
                                "half of this idle time is removed, at most all of it"),
                   "another process needs a core, and memory for prepared data")});
}

}  // namespace

extern const FindingDefinition kHostWork(
    "compute.host_work", hostWork, offers(kMoveHostWork),
    {.cause =
         R"(The device is idle while the training thread works on the CPU: it makes batches in the loop,
  computes metrics, decodes results, or runs part of the model there.)",
     .rule =
         R"(for over 5 % of the traced time all devices are idle, in gaps of 1 ms and more, while
  the training thread is on a CPU in a step. It is then in no blocking call, and in no work of
  another finding: making data, logging, compiling. Does not fire if other processes use the device
  for half of that time.)",
     .fixes =
         R"(- Batches made in the loop: a loader with workers, or a thread that makes them ahead of time.
- Metrics and post-processing: on the device, every N steps, or in another thread.
- Cheaper code: whole arrays instead of elements.)",
     .wrong = R"(the work must be done between two steps (a simulator that needs the model's last
  output). Then only cheaper code helps, or several simulators at once.)"});

}  // namespace stallprof
