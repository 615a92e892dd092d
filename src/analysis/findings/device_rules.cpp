// SPDX-License-Identifier: MIT
#include "analysis/findings/device_rules.h"

#include <algorithm>
#include <cmath>

#include "analysis/findings/hot.h"
#include "analysis/findings/loader_setting.h"
#include "base/units.h"

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
  s.copyScale = left(saved.blocking, step.copy);
  s.deviceScale = e.device.busy > 0 ? std::clamp(1 - saved.device / e.device.busy, 0.0, 1.0) : 1;
  return s;
}

double speedupWithout(const Evidence& e, const Saved& saved) {
  const double floor = std::max(0.0, e.device.busy - saved.device);
  return 1 / std::max({1 - saved.own - saved.blocking, std::min(1.0, floor), 0.02});
}

std::string largerBatchText(const AdviceContext& c) {
  const auto& change = c.advice.change;
  return (change.from.empty() ? std::string("Make the batch twice as large")
                              : "Raise " + settingOf(c, "batch_size") + " from " + change.from +
                                    " to " + change.to + (c.loader ? atSetting(c) : "")) +
         ": the same number of kernels then does twice the work, and the device's memory has "
         "room for it.";
}

}  // namespace

extern const AdviceDefinition kLargerBatch{"larger_batch", {}, largerBatchText};
extern const AdviceDefinition kLargerBatchFillsDevice{"larger_batch", {}, largerBatchText, true};

Finding deviceFinding(const Evidence& e, double share, std::string title) {
  Finding f = findingOf(e, share, std::move(title));
  if (!e.gains.fits())  // arithmetic on what was measured
    f.confidence = e.trainer.windowSteps() < 100 ? Confidence::kLow : Confidence::kMedium;
  if (e.device.estimated) f.confidence = std::min(f.confidence, Confidence::kMedium);
  return f;
}

Prediction predictSaved(const Evidence& e, const Saved& likely, const Saved& minimum,
                        const Saved& maximum, std::string assumes) {
  const bool fits = e.gains.fits();
  return assuming(
      std::move(assumes),
      fits ? e.gains.predictAssumed(without(e, likely), without(e, minimum), without(e, maximum))
           : Prediction{speedupWithout(e, likely), speedupWithout(e, minimum),
                        speedupWithout(e, maximum)});
}

Prediction predictSaved(const Evidence& e, const Saved& all, const SavedParts& parts,
                        std::string assumes) {
  const auto saved = [&](double part) {
    return Saved{part * all.own, part * all.blocking, part * all.device};
  };
  return predictSaved(e, saved(parts.likely), saved(parts.minimum), saved(parts.maximum),
                      std::move(assumes));
}

void pointAt(const Evidence& e, const CallSite& site, std::string_view pattern, Finding& f) {
  if (site.samples < 1 || site.hot.none()) return;
  HotFunction hot;
  hot.hot = lineOf(e.trace, site.hot);
  if (!site.user.none()) hot.where = lineOf(e.trace, site.user);
  f.where = hot.where;
  point(f, hot);
  addEvidence(f, pattern, {ratioWord(site.samples / site.all), textWord(nameOf(hot))});
}

void addKernelsEvidence(Finding& f, const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (d.kernelsPerStep < 1) return;
  addEvidence(f, "{} kernels a step, {} each on average",
              {numberWord(d.kernelsPerStep), timeWord(d.kernelSeconds)});
}

void addBusyEvidence(Finding& f, const Evidence& e) {
  addEvidence(f, "the device is busy {} of the time", {ratioWord(e.device.busy)});
}

void addTracedEvidence(Finding& f, const Evidence& e) {
  if (!e.device.estimated) return;
  addEvidence(f, "estimated from the {} of the window in which kernels were traced",
              {ratioWord(seconds(e.trainer.device.traced) / e.window)});
}

Maybe<Advice> largerBatch(const Evidence& e, const AdviceDefinition& definition, const Saved& all,
                          const SavedParts& parts, std::string assumes) {
  const DeviceGauge* g = e.device.gauge;
  if (!g || g->memoryTotal <= 0 || g->memoryPeak < 0) return {};
  const auto total = static_cast<double>(g->memoryTotal), peak = static_cast<double>(g->memoryPeak);
  if (2 * peak > (1 - kSpare) * total) return {};
  const bool known = e.loader && e.loader->batchSize > 0;
  const std::string now = known ? std::to_string(e.loader->batchSize) : "",
                    then = known ? std::to_string(2 * e.loader->batchSize) : "twice";
  return adviceOf(definition, {"loader_arg", "batch_size", now, then},
                  predictSaved(e, all, parts, std::move(assumes)),
                  "at most +" + bytesText(peak) + " of the device's memory, " +
                      bytesText(total - peak) +
                      " free at its peak; half as many updates an epoch: the learning rate may "
                      "have to follow");
}

}  // namespace stallprof
