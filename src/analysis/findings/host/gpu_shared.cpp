// SPDX-License-Identifier: MIT
// host.gpu_shared: other processes use the trainer's device.
#include <algorithm>

#include "analysis/findings/device_rules.h"

namespace stallprof {
namespace {

constexpr double kNoticed = 0.1;  // of the device's time

const AdviceDefinition kOwnDevice{
    "own_device",
    {},
    [](const AdviceContext&) {
      return std::string(
          "Give the training a device of its own: move or end what else runs there (nvidia-smi "
          "lists it), or choose another (CUDA_VISIBLE_DEVICES, the scheduler's request). Where "
          "sharing is meant, NVIDIA's MPS or MIG divides a device better than taking turns.");
    },
    true};

Maybe<Finding> gpuShared(const Evidence& e) {
  const DeviceGauge* g = e.device.gauge;
  if (!e.device.seen || !g || g->othersRatio.value_or(0) <= kNoticed) return {};
  const double others = *g->othersRatio;
  Finding f = deviceFinding(e, others, "Other processes use the device");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "they had {} of its time (NVML)", {ratioWord(others)}, ratioWord(others));
  if (g->othersNamed.empty())
    addEvidence(f, "they are not of this job, and not visible from here", {});
  else
    addEvidence(f, "most of it: {}", {textWord(g->othersNamed)});
  addBusyEvidence(f, e);
  // Kernels take longer by the turns of the others, as far as the device sets the pace.
  const double busy = e.device.timeline ? e.device.busy : g->busyRatio.value_or(0);
  const double maximum = busy * others;
  const auto saved = [&](double part) { return Saved{part * maximum, 0, part * maximum}; };
  return withAdvice(
      f, {adviceOf(kOwnDevice, {"hardware", "gpu", "shared", "its own"},
                   predictSaved(e, saved(0.7), saved(0.2), saved(1),
                                "kernels get faster by seven tenths of what others take, at most "
                                "by all"),
                   "the others' work has to go elsewhere")});
}

}  // namespace

extern const FindingDefinition kGpuShared(
    "host.gpu_shared", gpuShared, offers(kOwnDevice),
    {.cause = R"(Other processes use the training's device: they take turns with it, and each of its
  kernels takes longer.)",
     .rule = R"(over 10 % of the device's time, by the monitoring library (NVML): its busy share,
  by the parts of it that it gives to each process. The training's own must be among them.)",
     .fixes = R"(- Another device, other placement; NVIDIA's MPS or MIG where sharing is meant.)",
     .wrong = R"(ranks of one job that share a device on purpose are others to each other. Shares
  of processes are sampled by the driver, and are not given for MIG instances.)"});

}  // namespace stallprof
