// SPDX-License-Identifier: MIT
// compute.device_bound: the healthy answer of a run whose device is busy.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/torch_version.h"
#include "base/units.h"

namespace stallprof {
namespace {

const AdviceDefinition kFasterDeviceWork{
    "faster_device_work", {}, [](const AdviceContext& c) {
      return "Do not change the loader: no change to it is predicted to gain 5 %, and the device "
             "is busy. Improve the device's work: lower precision (bf16, TF32)" +
             alsoCompile(c) +
             ", channels-last for convolutions, a smaller model, or a faster device.";
    }};

// "matmul 71 %, elementwise 20 %, reduction 5 %"
std::string largestKernelKinds(const DeviceFacts& facts) {
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
    text +=
        (i > 0 ? ", " : "") + std::string(shares[i].second) + " " + percentText(shares[i].first);
  return text;
}

Maybe<Finding> deviceBound(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.bound()) return {};
  Finding f = deviceFinding(e, e.compute, "The device's own work limits the pace");
  if (d.timeline) {
    addBusyEvidence(f, e);
  } else {
    f.confidence = Confidence::kMedium;
    addEvidence(f, "the device ran a kernel {} of the time (NVML, all processes)",
                {ratioWord(d.gauge->busyRatio.value_or(0))});
  }
  addEvidence(f, "waits for data {} of the time", {ratioWord(e.wait)});
  if (d.hiddenWait > 0.005)
    addEvidence(f, "{} more is waiting that device work hides", {ratioWord(d.hiddenWait)});
  if (const std::string kinds = largestKernelKinds(e.trainer.device); !kinds.empty())
    addEvidence(f, "time of its kernels: {}", {textWord(kinds)});
  if (d.gauge && d.gauge->tensorRatio)
    addEvidence(f, "tensor cores active {} of the time", {ratioWord(*d.gauge->tensorRatio)});
  addTracedEvidence(f, e);
  return withAdvice(f, {adviceOf(kFasterDeviceWork, {"code", "model", "", ""}, {})});
}

}  // namespace

extern const FindingDefinition kDeviceBound(
    "compute.device_bound", deviceBound, offers(kFasterDeviceWork), kHealthyAnswer,
    {.cause = R"(Healthy: the device is busy with the training, and no fix gains 5 %.)",
     .rule =
         R"(no fix is predicted to gain 5 %, and the device was busy for 80 % of the traced time.
  Without a timeline: the monitoring library (NVML) reports 90 %; confidence is then at most medium.)",
     .fixes = R"(- Lower precision (bf16, TF32), torch.compile, channels-last, fused attention.
- A smaller model, a faster device, more devices.)",
     .wrong = R"(a busy device is not always well used. Kernels that are too small to fill it are
  compute.underfilled. A collective that waits for other ranks counts as busy, too. NVML counts any
  kernel of any process.)"});

}  // namespace stallprof
