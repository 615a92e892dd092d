// SPDX-License-Identifier: MIT
#include "analysis/findings/device_rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/findings/hot.h"
#include "analysis/findings/wording.h"
#include "analysis/stack_table.h"

namespace stallprof {
namespace {

// Activations and batches grow with the batch, weights and the optimizer's state do not: twice the
// batch takes at most twice the memory, and what is in use must fit once more into what is free
// with a tenth to spare for fragments.
constexpr double kSpare = 0.10;

PipelineSettings without(const Evidence& e, const Saved& saved) {
  PipelineSettings s = e.gains.base();
  const StepDemand& step = e.gains.demand().step;
  const auto left = [&](double share, double of) {
    return of > 0 ? std::clamp(1 - share * e.perStep / of, 0.0, 1.0) : 1;
  };
  s.ownScale = left(saved.own, step.own);
  s.copyScale = left(saved.standing, step.copy);
  s.deviceScale = e.device.busy > 0 ? std::clamp(1 - saved.device / e.device.busy, 0.0, 1.0) : 1;
  return s;
}

double speedupWithout(const Evidence& e, const Saved& saved) {
  const double floor = std::max(0.0, e.device.busy - saved.device);
  return 1 / std::max({1 - saved.own - saved.standing, std::min(1.0, floor), 0.02});
}

// Changes of the device's own work: their predictions have the new floor in them.
bool changesDevice(const Finding& f, const Advice& a) {
  constexpr std::array<std::string_view, 6> kAll = {"pin_memory",          "copy_fewer_bytes",
                                                    "overlap_collectives", "even_out_the_ranks",
                                                    "cool_the_device",     "one_process_a_device"};
  if (a.id == "larger_batch") return f.id == "compute.underfilled";
  return std::find(kAll.begin(), kAll.end(), a.id) != kAll.end();
}

// The monitoring library's figure is of all processes, and counts any kernel: it bounds this
// trainer's work only where nobody else is seen on the device, and then roughly.
constexpr double kRoughly = 0.9;

double busyOutside(const Evidence& e) {
  const DeviceGauge* g = e.device.gauge;
  if (!e.device.seen || !g) return 0;
  for (const auto& row : e.trace.deviceProcesses)
    if (row.data.device == g->device && row.data.process != e.trainer.process) return 0;
  return g->busyRatio.value_or(0);
}

}  // namespace

Finding deviceFinding(const Evidence& e, const char* id, Phase phase, double share,
                      std::string title) {
  Finding f = findingOf(e, id, phase, share, std::move(title));
  if (!e.gains.fits())  // arithmetic on what was measured
    f.confidence = e.trainer.windowSteps() < 100 ? Confidence::kLow : Confidence::kMedium;
  if (e.device.estimated) f.confidence = std::min(f.confidence, Confidence::kMedium);
  f.where = {};  // the loader's line is not what is to be changed
  return f;
}

Prediction predictSaved(const Evidence& e, const Saved& likely, const Saved& least,
                        const Saved& most) {
  if (e.gains.fits())
    return e.gains.predict(without(e, likely), without(e, least), without(e, most));
  return {speedupWithout(e, likely), speedupWithout(e, least), speedupWithout(e, most)};
}

void pointAt(const Evidence& e, const CallSite& site, const char* where, Finding& f) {
  if (site.looks < 1 || site.hot.none()) return;
  HotFunction hot;
  hot.hot = lineOf(e.trace, site.hot);
  if (!site.user.none()) hot.where = lineOf(e.trace, site.user);
  f.where = hot.where;
  point(f, hot);
  tell(f, percent(site.looks / site.all) + where + nameOf(hot), site.looks / site.all, "ratio");
}

Maybe<Advice> largerBatch(const Evidence& e, const Saved& likely, const Saved& least,
                          const Saved& most) {
  const DeviceGauge* g = e.device.gauge;
  if (!g || g->memoryTotal <= 0 || g->memoryPeak < 0) return {};
  const auto total = static_cast<double>(g->memoryTotal), peak = static_cast<double>(g->memoryPeak);
  if (2 * peak > (1 - kSpare) * total) return {};
  const bool known = e.loader && e.loader->batchSize > 0;
  const std::string now = known ? std::to_string(e.loader->batchSize) : "",
                    then = known ? std::to_string(2 * e.loader->batchSize) : "twice";
  return adviceOf(
      "larger_batch", {"loader_arg", "batch_size", now, then}, predictSaved(e, likely, least, most),
      "at most +" + byteSize(peak) + " of the device's memory, " + byteSize(total - peak) +
          " free at its peak; half as many updates an epoch: the learning rate may "
          "have to follow");
}

void boundByDevice(const Evidence& e, std::vector<Finding>& findings) {
  const double busy = e.device.timeline ? e.device.busy : busyOutside(e);
  if (busy <= 0) return;
  const double most = 1 / std::clamp(busy, 0.02, 1.0);
  for (Finding& f : findings)
    for (Advice& a : f.advice) {
      if (changesDevice(f, a)) continue;
      for (Maybe<double>* p : {&a.predicted.speedup, &a.predicted.low, &a.predicted.high})
        if (*p) *p = std::min(**p, most);
      if (!e.device.timeline && a.predicted.low)
        a.predicted.low = std::min(*a.predicted.low, std::max(1.0, kRoughly * most));
    }
}

}  // namespace stallprof
