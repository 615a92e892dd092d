// SPDX-License-Identifier: MIT
// compute.device_bound, launch_bound, sync_points, underfilled: a device that could do more, or
// not.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/wording.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

constexpr double kSyncShare = 0.03;   // the design's page: over 3 % of the step, each step
constexpr double kEachStep = 0.5;     // syncs a step
constexpr double kMostlyBusy = 0.50;  // a device that idles half the time is not underfilled
constexpr double kHalfFilled = 0.50;  // of its units, weighted by time

void tellKernels(Finding& f, const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (d.kernelsPerStep < 1) return;
  tell(f,
       number(d.kernelsPerStep) + " kernels a step, " + duration(d.kernelSeconds) +
           " each on average",
       d.kernelsPerStep, "count");
}

void tellBusy(Finding& f, const Evidence& e) {
  const DeviceEvidence& d = e.device;
  tell(f, "the device is busy " + percent(d.busy) + " of the time", d.busy, "ratio");
}

// "matmul 71 %, elementwise 20 %, reduction 5 %"
std::string mostKernels(const DeviceFacts& facts) {
  std::vector<std::pair<double, std::string_view>> shares;
  for (std::size_t c = 0; c < kKernelCategories; ++c) {
    double time = 0;
    for (const KernelUse& k : facts.kernels)
      if (static_cast<std::size_t>(k.category) == c) time += seconds(k.time);
    if (time > 0)
      shares.emplace_back(time / seconds(facts.kernelTime), nameOf(static_cast<KernelCategory>(c)));
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](auto& a, auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, shares.size()); ++i)
    text += (i > 0 ? ", " : "") + std::string(shares[i].second) + " " + percent(shares[i].first);
  return text;
}

void tellTraced(Finding& f, const Evidence& e) {
  if (!e.device.estimated) return;
  const double part = seconds(e.trainer.device.traced) / e.window;
  tell(f, "told from the " + percent(part) + " of the window in which kernels were traced", part,
       "ratio");
}

double unfilled(const DeviceEvidence& d) {
  // The hardware's own figure counts cycles with any block on a unit: it says more than the grids.
  if (d.gauge && d.gauge->smActiveRatio && d.busy > 0)
    return 1 - std::min(1.0, *d.gauge->smActiveRatio / d.busy);
  return d.filled > 0 ? 1 - d.filled : 0;
}

}  // namespace

Finding deviceBound(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  Finding f = deviceFinding(e, "compute.device_bound", Phase::kCompute, e.compute,
                            "The device's own work sets the pace");
  if (d.timeline) {
    tellBusy(f, e);
  } else {
    f.confidence = Confidence::kMedium;
    tell(f,
         "the device had some kernel running " + percent(d.gauge->busyRatio.value_or(0)) +
             " of the time (NVML, all processes)",
         d.gauge->busyRatio, "ratio");
  }
  tell(f, "waits for data " + percent(e.wait) + " of the time", e.wait, "ratio");
  if (d.hiddenWait > 0.005)
    tell(f, percent(d.hiddenWait) + " more are waits that the device's work hides", d.hiddenWait,
         "ratio");
  if (const std::string kinds = mostKernels(e.trainer.device); !kinds.empty())
    tell(f, "its kernels' time: " + kinds);
  if (d.gauge && d.gauge->tensorRatio)
    tell(f, "tensor cores active " + percent(*d.gauge->tensorRatio) + " of the time",
         d.gauge->tensorRatio, "ratio");
  tellTraced(f, e);
  offer(f, adviceOf("faster_device_work", {"code", "model", "", ""}, {}));
  return f;
}

Maybe<Finding> launchBound(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.idleLaunch <= kNotable) return {};
  // A trainer without a core launches late for another reason.
  if (e.starved > d.idleLaunch / 2) return {};
  Finding f = deviceFinding(e, "compute.launch_bound", Phase::kCompute, d.idleLaunch,
                            "The device waits for the host to launch its next kernel");
  // Tracing makes each launch a little dearer, so a part of what is seen is its own doing.
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  tell(f,
       "idle " + percent(d.idleLaunch) +
           " of the time in short gaps, while the training thread works",
       d.idleLaunch, "ratio");
  tellBusy(f, e);
  tellKernels(f, e);
  const double core = e.trainer.cpu > Nanos{} ? seconds(e.trainer.cpu) / e.window : 0;
  if (core > 0)
    tell(f, "the training thread runs " + percent(core) + " of the time", core, "ratio");
  tellTraced(f, e);
  const double gap = d.idleLaunch;
  offer(f, adviceOf("compile_step", {"code", "model", "eager", "torch.compile"},
                    predictSaved(e, {0.6 * gap, 0, 0}, {0.1 * gap, 0, 0}, {gap, 0, 0}),
                    "compiling takes the first minutes, and again for each new shape; graphs need "
                    "fixed shapes and addresses"));
  // The same launches serve twice the samples.
  if (auto a = largerBatch(e, {0.4 * gap, 0, 0}, {gap / 10, 0, 0}, {gap, 0, 0}))
    offer(f, std::move(*a));
  return f;
}

Maybe<Finding> syncPoints(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.idleSync <= kSyncShare || d.syncsPerStep < kEachStep) return {};
  Finding f = deviceFinding(e, "compute.sync_points", Phase::kCompute, d.idleSync,
                            "The training thread waits for the device in every step");
  tell(f,
       number(d.syncsPerStep) + " long waits for the device a step; after them it idles " +
           percent(d.idleSync) + " of the time until it is given work again",
       d.idleSync, "ratio");
  tellBusy(f, e);
  pointAt(e, e.trainer.device.syncSite, " of the looks in such a wait are in ", f);
  tellTraced(f, e);
  const double gap = d.idleSync;
  offer(f, adviceOf("fewer_syncs", {"code", nameOf(f.hot), "each step", "every N steps"},
                    predictSaved(e, {0.8 * gap, 0, 0}, {0.4 * gap, 0, 0}, {gap, 0, 0}),
                    "values are seen later; a loss that is not a number is noticed later"));
  return f;
}

Maybe<Finding> underfilled(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  const double idle = unfilled(d);
  if (!d.timeline || d.busy <= kMostlyBusy || idle <= 1 - kHalfFilled) return {};
  Finding f = deviceFinding(e, "compute.underfilled", Phase::kCompute, d.kernels * idle,
                            "The device's kernels are too small to fill it");
  f.confidence = lowered(f.confidence);
  tellBusy(f, e);
  if (d.filled > 0)
    tell(f, "its kernels have blocks for " + percent(d.filled) + " of its multiprocessors",
         d.filled, "ratio");
  if (d.gauge && d.gauge->smActiveRatio)
    tell(f, "multiprocessors active " + percent(*d.gauge->smActiveRatio) + " of the time",
         d.gauge->smActiveRatio, "ratio");
  tellKernels(f, e);
  tellTraced(f, e);
  // Twice the work in kernels that have room for it: between no gain and all that is unfilled.
  const double room = d.kernels * std::min(0.5, idle);
  if (auto a = largerBatch(e, {room / 2, 0, room / 2}, {room / 20, 0, room / 20}, {room, 0, room}))
    offer(f, std::move(*a));
  offer(f, adviceOf("fuse_kernels", {"code", "model", "eager", "torch.compile"}, {},
                    "compiling takes the first minutes, and again for each new shape"));
  return f;
}

}  // namespace stallprof
