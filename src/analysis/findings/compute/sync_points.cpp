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
  addEvidence(f,
              "{} for the device a step; after that it idles {} of the time until it is given work "
              "again",
              {numberWord(d.syncsPerStep, "long wait"), ratioWord(gap)}, ratioWord(gap));
  addBusyEvidence(f, e);
  if (d.hostWork < d.busy)
    addEvidence(f, "without these waits the training thread has work for {} of the time at most",
                {ratioWord(d.hostWork)});
  pointAt(e, e.trainer.device.syncSite, "{} of the samples in such a wait are in {}", f);
  addTracedEvidence(f, e);
  return withAdvice(
      f, {adviceOf(kFewerSyncs, {"code", nameOf(f.hot), "each step", "every N steps"},
                   predictSaved(e, {0.8 * gap, 0, 0}, {0.4 * gap, 0, 0}, {gap, 0, 0},
                                "eight tenths of this idle time, at most all, goes"),
                   "values are seen later; a loss that is not a number is noticed later")});
}

}  // namespace

extern const FindingDefinition kSyncPoints(
    "compute.sync_points", syncPoints, offers(kFewerSyncs),
    {.cause =
         R"(The host waits for the device in every step (.item(), .cpu(), printing a loss), so the
  device runs dry each time and stands still until it is given work again.)",
     .rule = R"(over 3 % of the traced time the device is idle after such a wait, or during one,
  and there is one in at least every second step. Only waits of 100 us and more are known. Where
  the thread's time outside of them is less than the device's work, so that it would run ahead
  without them, its gaps up to 100 ms are of the waits, too.)",
     .fixes = R"(- Log every N steps; keep values on the device.
- No nonzero(), boolean indexing or tensor-dependent control flow in the step.)",
     .wrong = R"(the wait itself is where the device's real work is paid: it is compute, and
  removing it gains only the idle time behind it. That is all the prediction counts.)"});

}  // namespace stallprof
