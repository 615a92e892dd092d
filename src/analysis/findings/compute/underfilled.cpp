// SPDX-License-Identifier: MIT
// compute.underfilled: the device is busy with kernels too small to fill it.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/torch_version.h"

namespace stallprof {
namespace {

constexpr double kMostlyBusy = 0.50;  // a device that idles half the time is not underfilled
constexpr double kHalfFilled = 0.50;  // of its units, weighted by time

const AdviceDefinition kFuseKernels{
    "fuse_kernels", {}, [](const AdviceContext& c) {
      static constexpr PerFramework kOthers = {
          {},
          "tf.function(jit_compile=True) fuses small ones, ",
          "one jax.jit around the whole step fuses small ones, ",
          "merge small ones; "};
      const Has has = hasSince(c, kCompileSince);
      const std::string_view other = kOthers.of(frameworkOf(c));
      return "Use larger kernels: " +
             (!other.empty() || has == Has::kNo
                  ? std::string(other)
                  : "torch.compile" + ifNewEnough(has, kCompileSince) + " fuses small ones, ") +
             "fused optimizers and attention replace many, and padding to multiples of 8 or 16 "
             "fills tensor cores.";
    }};

double unfilled(const DeviceEvidence& d) {
  // The hardware's own figure counts cycles with any block on a unit: better than the grids.
  if (d.gauge && d.gauge->smActiveRatio && d.busy > 0)
    return 1 - std::min(1.0, *d.gauge->smActiveRatio / d.busy);
  return d.filled > 0 ? 1 - d.filled : 0;
}

Maybe<Finding> underfilled(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  const double idle = unfilled(d);
  if (!d.timeline || d.busy <= kMostlyBusy || idle <= 1 - kHalfFilled) return {};
  Finding f = deviceFinding(e, d.kernels * idle, "The device's kernels are too small to fill it");
  f.confidence = lowered(f.confidence);
  addBusyEvidence(f, e);
  if (d.filled > 0)
    addEvidence(f, "the kernels have blocks for {} of the multiprocessors", {ratioWord(d.filled)});
  if (d.gauge && d.gauge->smActiveRatio)
    addEvidence(f, "multiprocessors active {} of the time", {ratioWord(*d.gauge->smActiveRatio)});
  addKernelsEvidence(f, e);
  addTracedEvidence(f, e);
  // Twice the work in kernels that have room for it: between no gain and all that is unfilled.
  const double room = d.kernels * std::min(0.5, idle);
  return withAdvice(
      f, {largerBatch(e, kLargerBatchFillsDevice, {.own = room, .device = room}, {0.5, 0.05},
                      "kernels fill half of the unused part, at most all of it"),
          adviceOf(kFuseKernels, {"code", "model", "eager", compilerOf(e, "fused")}, {},
                   "compilation takes minutes at the start, and again for each new shape")});
}

}  // namespace

extern const FindingDefinition kUnderfilled(
    "compute.underfilled", underfilled, offers(kLargerBatchFillsDevice, kFuseKernels),
    {.cause = R"(The device is busy, but with kernels too small to fill it.)",
     .rule =
         R"(the device is busy for over half of the traced time. Its kernels have blocks for less
  than half of its multiprocessors (weighted by time), or the hardware counter (GPM, from Hopper on)
  reports less than half of them as active.)",
     .fixes = R"(- Larger batches, where memory has room.
- Fused kernels: torch.compile, fused attention and optimizers.)",
     .wrong = R"(memory does not permit larger batches. Or kernels of several streams fill the
  device together, which the grid sizes do not show.)"});

}  // namespace stallprof
