// SPDX-License-Identifier: MIT
// load.pageable_copy: batches are copied to the device from ordinary memory.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/framework.h"
#include "analysis/findings/loader_setting.h"
#include "base/units.h"

namespace stallprof {
namespace {

// Pageable copies go through a staging buffer: measured rates are a half to a sixth of pinned ones
// on the same link (NVIDIA's bandwidthTest on PCIe 3 to 5).
constexpr double kPinnedFaster = 2.5, kMinPinnedFaster = 1.2, kMaxPinnedFaster = 6;

std::string pinMemoryText(const AdviceContext& c) {
  if (c.advice.change.kind == "loader_arg")
    return "Pass " + settingOf(c, "pin_memory") + "=True" + atSetting(c) +
           " and copy with .to(device, non_blocking=True): the copy then overlaps the step, at the "
           "link's speed.";
  static constexpr PerFramework kHow = {
      "Copy from pinned memory (tensor.pin_memory(), or pin_memory=True in the loader that makes "
      "them) with non_blocking=True",
      "End the pipeline with tf.data.experimental.prefetch_to_device(), one batch ahead",
      "Pass the next batch to jax.device_put() before the current one is used",
      "Copy from pinned memory (cudaMallocHost, cudaHostRegister) with cudaMemcpyAsync, in a "
      "stream of its own"};
  const Framework framework = frameworkOf(c);
  const bool pinned = framework != Framework::kTensorFlow && framework != Framework::kJax;
  return std::string(kHow.of(framework)) + atLine(c.finding.where) +
         ": the copy then overlaps the step" + (pinned ? ", and at the link's speed." : ".");
}

const AdviceDefinition kPinMemory{"pin_memory", {}, pinMemoryText, true};

Advice pinMemory(const Evidence& e, double exposed) {
  const DeviceEvidence& d = e.device;
  const double measured = d.pinnedRate > 0 && d.pageableRate > 0
                              ? std::clamp(d.pinnedRate / d.pageableRate, 1.0, kMaxPinnedFaster)
                              : kPinnedFaster;
  // What is left of the copies, faster, can still hold up the device; the trainer does not wait.
  const auto saved = [&](double faster, double blocking) {
    return Saved{0, blocking * d.blocking, std::min(d.copies, exposed) * (1 - 1 / faster)};
  };
  const bool loader = e.loader && !e.loader->pinMemory;
  const std::string assumes = "pinned copies are " + numberText(measured) +
                              " times as fast, at best " + numberText(kMaxPinnedFaster) +
                              " times, and overlap the step";
  return adviceOf(
      kPinMemory,
      loader ? Advice::Change{"loader_arg", "pin_memory", "False", "True"}
             : Advice::Change{"code", "copy to the device", "pageable", "pinned"},
      predictSaved(e, saved(measured, 0.9), saved(std::min(kMinPinnedFaster, measured), 0.4),
                   saved(kMaxPinnedFaster, 1), assumes),
      "pinned memory is unavailable to the host while batches are queued");
}

Maybe<Finding> pageableCopy(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.pageable <= 0 || d.pageable < d.pinned) return {};
  // Copies that overlap kernels, with a trainer that does not wait for them, cost nothing.
  const double exposed = std::max(d.blocking, std::min(d.copies, d.pageable));
  if (exposed <= kNotable) return {};
  Finding f = deviceFinding(e, exposed, "Batches are copied to the device from pageable memory");
  f.where = e.loaderLine();
  if (d.pageableRate > 0)
    addEvidence(f, "copies from pageable memory take {} of the time at {}",
                {ratioWord(d.pageable), rateWord(d.pageableRate)});
  else
    addEvidence(f, "copies from pageable memory take {} of the time", {ratioWord(d.pageable)});
  if (d.blocking > 0)
    addEvidence(f, "the training thread is blocked in them {} of the time",
                {ratioWord(d.blocking)});
  addEvidence(f, "the device only copies {} of the time", {ratioWord(d.copies)});
  if (d.pinnedRate > 0)
    addEvidence(f, "pinned copies of this run reach {}", {rateWord(d.pinnedRate)}, {});
  pointAt(e, e.trainer.device.copySite, "{} of the samples in a copy are in {}", f);
  if (e.loader && !e.loader->pinMemory) f.where = e.loaderLine();
  return withAdvice(f, {pinMemory(e, exposed)});
}

}  // namespace

extern const FindingDefinition kPageableCopy(
    "load.pageable_copy", pageableCopy, offers(kPinMemory),
    {.cause =
         R"(Copies to the device start from pageable memory. The driver copies the data twice, and the
  calling thread is blocked until the copy is done.)",
     .rule =
         R"(most of the copying to the device is from pageable memory. For over 5 % of the window
  the training thread is blocked in these copies, or the device only copies.)",
     .fixes = R"(- pin_memory=True in the loader, and .to(device, non_blocking=True).
- Fewer bytes: uint8, converted on the device.)",
     .wrong = R"(the copies are not of batches (for example, weights that are loaded again). The
  line of the call shows it.)"});

}  // namespace stallprof
