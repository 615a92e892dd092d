// SPDX-License-Identifier: MIT
// compute.sync_points: the training thread waits for the device in every step.
#include "analysis/device/device_use.h"
#include "analysis/facts/source_lines.h"
#include "analysis/findings/device_rules.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/loader_setting.h"

namespace stallprof {
namespace {

constexpr double kSyncShare = 0.03;  // of the window, idle after such a wait

const AdviceDefinition kFewerSyncs{
    "fewer_syncs", {}, [](const AdviceContext& c) {
      static constexpr PerFramework kHow = {
          "keep loss and metrics there (detach()), and call .item(), .cpu(), print or "
          "torch.cuda.synchronize() every N steps; use masks instead of nonzero() and boolean "
          "indexing.",
          "keep loss and metrics there, and call .numpy() or print every N steps.",
          "keep loss and metrics there, and call float(), numpy.asarray(), block_until_ready() or "
          "print every N steps.",
          "copy them with cudaMemcpyAsync into pinned memory and read them a step later, and "
          "synchronize every N steps."};
      return "Do not read values from the device in each step" + atLine(c.finding.where) + ": " +
             std::string(kHow.of(frameworkOf(c)));
    }};

Maybe<Finding> syncPoints(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  const double gap = d.idleSync;
  if (!d.timeline || gap <= kSyncShare || d.syncsPerStep < kWaitsEachStep) return {};
  Finding f = deviceFinding(e, gap, "The training thread waits for the device in every step");
  addEvidence(f, "{} for the device per step; afterwards the device is idle {} of the time",
              {numberWord(d.syncsPerStep, "long wait"), ratioWord(gap)}, ratioWord(gap));
  addBusyEvidence(f, e);
  if (d.hostWork < d.busy)
    addEvidence(f, "without these waits the training thread works at most {} of the time",
                {ratioWord(d.hostWork)});
  pointAt(e, e.trainer.device.syncSite, "{} of the samples in such a wait are in {}", f);
  addTracedEvidence(f, e);
  return withAdvice(
      f, {adviceOf(kFewerSyncs, {"code", nameOf(f.hot), "each step", "every N steps"},
                   predictSaved(e, {.own = gap}, {0.8, 0.4},
                                "eight tenths of this idle time is removed, at most all of it"),
                   "values are available later; a NaN loss is detected later")});
}

}  // namespace

extern const FindingDefinition kSyncPoints(
    "compute.sync_points", syncPoints, offers(kFewerSyncs),
    {.cause =
         R"(The host waits for the device in every step (.item(), .cpu(), printing a loss). The device
  then has no queued work, and is idle until the host launches the next kernel.)",
     .rule =
         R"(for over 3 % of the traced time the device is idle during or after such a wait, and at
  least every second step has one. Only waits of 100 us and more are recorded. If the thread's other
  time is less than the device's work, the thread would run ahead without the waits. Then idle gaps
  up to 100 ms count for the waits, too.)",
     .fixes = R"(- Log every N steps; keep values on the device.
- No nonzero(), boolean indexing or tensor-dependent control flow in the step.)",
     .wrong = R"(the wait itself includes the device's real work, which is compute. Without the
  wait only the idle time after it is saved. The prediction counts only this idle time.)"});

}  // namespace stallprof
