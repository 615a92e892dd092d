// SPDX-License-Identifier: MIT
// host.gpu_shared: other processes use the trainer's device.
#include <algorithm>

#include "analysis/findings/device_rules.h"

namespace stallprof {
namespace {

constexpr double kMuchOfOthers = 0.1;  // of the device's time

const AdviceDefinition kOwnDevice{
    "own_device",
    {},
    [](const AdviceContext&) {
      return std::string(
          "Use a dedicated device for the training: move or end the other processes (nvidia-smi "
          "lists them), or select another device (CUDA_VISIBLE_DEVICES, the scheduler's request). "
          "For intended sharing, NVIDIA's MPS or MIG is better than time slicing.");
    },
    true};

Maybe<Finding> gpuShared(const Evidence& e) {
  const DeviceGauge* g = e.device.gauge;
  if (!e.device.seen || !g || g->othersRatio.value_or(0) <= kMuchOfOthers) return {};
  const double others = *g->othersRatio;
  Finding f = deviceFinding(e, others, "Other processes use the device");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "they use {} of its time (NVML)", {ratioWord(others)}, ratioWord(others));
  if (g->othersNamed.empty())
    addEvidence(f, "they do not belong to this job, and are not visible from here", {});
  else
    addEvidence(f, "most of it: {}", {textWord(g->othersNamed)});
  addBusyEvidence(f, e);
  // Kernels take longer by the turns of the others, as far as the device sets the pace.
  const double busy = e.device.timeline ? e.device.busy : g->busyRatio.value_or(0);
  const double maximum = busy * others;
  return withAdvice(
      f,
      {adviceOf(kOwnDevice, {"hardware", "gpu", "shared", "its own"},
                predictSaved(
                    e, {.own = maximum, .device = maximum}, {0.7, 0.2},
                    "kernels get faster by seven tenths of the others' time, at most by all of it"),
                "the other processes need another device")});
}

}  // namespace

extern const FindingDefinition kGpuShared(
    "host.gpu_shared", gpuShared, offers(kOwnDevice),
    {.cause =
         R"(Other processes share the training's device by time slicing. Each kernel of the training takes
  longer.)",
     .rule = R"(other processes use over 10 % of the device's time. This is the busy share of NVML,
  divided by its shares of each process. The training must be one of these processes.)",
     .fixes = R"(- Another device or placement; NVIDIA's MPS or MIG for intended sharing.)",
     .wrong = R"(ranks of one job that share a device on purpose count as others to each other. The
  driver samples the shares of processes, and does not report them for MIG instances.)"});

}  // namespace stallprof
