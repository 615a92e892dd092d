// SPDX-License-Identifier: MIT
// compute.host_work: the device waits while the training thread does work of its own on the CPU.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/hot.h"
#include "analysis/findings/loader_setting.h"

namespace stallprof {
namespace {

const AdviceDefinition kMoveHostWork{
    "move_host_work", {}, [](const AdviceContext& c) {
      const SourceLine& line = c.finding.where.known() ? c.finding.where : c.finding.hot;
      const std::string work = line.known() ? nameOf(line) : "the training thread's own work";
      return "Take " + work +
             " off the step: if it makes data, let a loader's workers, a thread or a process make "
             "it ahead; else do it on the device, every N steps, or cheaper.";
    }};

Maybe<Finding> hostWork(const Evidence& e) {
  const double idle = e.device.idleHost;
  // A trainer without a core, or that waits for something that nothing names, does no work.
  const double runs = e.trainer.cpu > Nanos{} ? seconds(e.trainer.cpu) / e.window : 1;
  const double gap = std::min(idle, runs);
  if (!e.device.timeline || gap <= kNotable || e.starved > gap / 2 || gap < idle / 2) return {};
  Finding f = deviceFinding(e, gap, "The device waits while the training thread works on the CPU");
  addEvidence(
      f,
      "idle {} of the time in gaps of 1 ms and more, in which that thread waits neither for "
      "data nor for the device",
      {ratioWord(idle)});
  addBusyEvidence(f, e);
  if (e.trainer.cpu > Nanos{})
    addEvidence(f, "the training thread runs {} of the time", {ratioWord(runs)});
  addTracedEvidence(f, e);
  return withAdvice(f,
                    {adviceOf(kMoveHostWork, {"code", "step", "on the training thread", "ahead"},
                              predictSaved(e, {gap / 2, 0, 0}, {gap / 10, 0, 0}, {gap, 0, 0},
                                           "half of this idle time, at most all, goes"),
                              "another process wants a core, and memory for what it makes ahead")});
}

}  // namespace

extern const FindingDefinition kHostWork(
    "compute.host_work", hostWork, offers(kMoveHostWork),
    {.cause = R"(The device has nothing to do while the training thread works on the CPU: it makes
  batches in the loop, computes metrics, decodes results, or runs a part of the model there.)",
     .rule = R"(over 5 % of the traced time the device is idle in gaps of 1 ms and more while the
  training thread neither waits for data or the device nor copies. Not where that thread lacks a
  core, or does not run, for half as long. What it does not run counts for no work.)",
     .fixes =
         R"(- Batches made in the loop: a loader with workers, or a thread that makes them ahead.
- Metrics and post-processing: on the device, every N steps, or in another thread.
- Cheaper code: whole arrays instead of elements.)",
     .wrong = R"(the work has to come between two steps (a simulator that needs the model's last
  answer): then only making it cheaper helps, or several of them at once.)"});

}  // namespace stallprof
