// SPDX-License-Identifier: MIT
// load.pageable_copy, load.transfer_bandwidth, load.pin_thread: from the host's memory to the
// device's.
#include <algorithm>

#include "analysis/blame.h"
#include "analysis/findings/device_rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

// Pinned copies of the slowest link that is common beside today's devices (PCIe 3, 16 lanes) reach
// 11 to 13 GB/s; what is below is held up by something else than the link.
constexpr double kLinkSpeed = 10e9;
// Pageable copies go through a staging buffer: measured rates are a half to a sixth of pinned ones
// on the same link (NVIDIA's bandwidthTest on PCIe 3 to 5).
constexpr double kPinnedFaster = 2.5, kPinnedFasterLeast = 1.2, kPinnedFasterMost = 6;
constexpr double kPinThreadBusy = 0.90;  // of a core: the design's "at a full core"
constexpr std::string_view kPinName = "pt_data_pin";

std::string rateText(double rate) { return rate > 0 ? " at " + bytesPerSecond(rate) : ""; }

Advice pinMemory(const Evidence& e, double exposed) {
  const DeviceEvidence& d = e.device;
  const double measured = d.pinnedRate > 0 && d.pageableRate > 0
                              ? std::max(1.0, d.pinnedRate / d.pageableRate)
                              : kPinnedFaster;
  // What is left of the copies, faster, can still hold up the device; the trainer does not stand.
  const auto saved = [&](double faster, double standing) {
    return Saved{0, standing * d.standing, std::min(d.copies, exposed) * (1 - 1 / faster)};
  };
  const bool loader = e.loader && !e.loader->pinMemory;
  return adviceOf("pin_memory",
                  loader ? Advice::Change{"loader_arg", "pin_memory", "False", "True"}
                         : Advice::Change{"code", "copy to the device", "pageable", "pinned"},
                  predictSaved(e, saved(measured, 0.9), saved(kPinnedFasterLeast, 0.4),
                               saved(kPinnedFasterMost, 1)),
                  "pinned memory is taken from the host's for as long as batches lie ready");
}

// Bytes that become a quarter take a quarter of the time; where the device sets the pace, the step
// gets as much shorter.
Advice fewerBytes(const Evidence& e) {
  const auto saved = [&](double part) {
    const double off = part * e.device.copies;
    return Saved{off * std::min(1.0, e.device.busy), part * e.device.standing, off};
  };
  return adviceOf("copy_fewer_bytes", {"code", "dtype", "float32", "uint8"},
                  predictSaved(e, saved(0.7), saved(0.1), saved(0.9)),
                  "normalise on the device after the copy; only for data that fits in bytes");
}

// Of a core, by the busiest thread that pins batches for this trainer.
double pinThreadBusy(const Evidence& e) {
  double most = 0;
  for (const ThreadId id : e.trace.process(e.trainer.process).threads) {
    const ThreadLife& thread = e.trace.thread(id);
    if (!e.trace.text(thread.name).starts_with(kPinName) || e.window <= 0) continue;
    const Observed seen = observe(thread, e.trainer.windowBegin, e.trainer.windowEnd);
    most = std::max(most, seconds(seen.run) / e.window);
  }
  return most;
}

}  // namespace

Maybe<Finding> pageableCopy(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.pageable <= 0 || d.pageable < d.pinned) return {};
  // Copies that overlap kernels, with a trainer that does not wait for them, cost nothing.
  const double exposed = std::max(d.standing, std::min(d.copies, d.pageable));
  if (exposed <= kNotable) return {};
  Finding f = deviceFinding(e, "load.pageable_copy", Phase::kLoad, exposed,
                            "Batches are copied to the device from pageable memory");
  f.where = e.loaderLine();
  tell(f,
       "copies from pageable memory take " + percent(d.pageable) + " of the time" +
           rateText(d.pageableRate),
       d.pageable, "ratio");
  if (d.standing > 0)
    tell(f, "the training thread stands in them " + percent(d.standing) + " of the time",
         d.standing, "ratio");
  tell(f, "the device does nothing but copy " + percent(d.copies) + " of the time", d.copies,
       "ratio");
  if (d.pinnedRate > 0) tell(f, "pinned copies of this run go" + rateText(d.pinnedRate));
  pointAt(e, e.trainer.device.copySite, " of the looks in a copy are in ", f);
  if (e.loader && !e.loader->pinMemory) f.where = e.loaderLine();
  offer(f, pinMemory(e, exposed));
  return f;
}

Maybe<Finding> transferBandwidth(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.pinned <= kNotable || d.copies <= kNotable || d.pinned < d.pageable)
    return {};
  if (d.pinnedRate < kLinkSpeed) return {};
  Finding f = deviceFinding(e, "load.transfer_bandwidth", Phase::kLoad, d.copies,
                            "A batch's bytes fill the link to the device");
  tell(f, "the device does nothing but copy " + percent(d.copies) + " of the time", d.copies,
       "ratio");
  tell(f, "pinned copies go" + rateText(d.pinnedRate) + ", as fast as links get", d.pinnedRate,
       "bytes_per_s");
  if (d.pinnedBytes > 0) tell(f, byteSize(d.pinnedBytes) + " a step", d.pinnedBytes, "bytes");
  offer(f, fewerBytes(e));
  return f;
}

Maybe<Finding> pinThread(const Evidence& e) {
  const double busy = pinThreadBusy(e);
  if (busy < kPinThreadBusy || e.steadyWait() <= kNotable) return {};
  Finding f = deviceFinding(e, "load.pin_thread", Phase::kLoad, e.steadyWait(),
                            "The thread that pins batches is a whole core busy");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  tell(f, "it runs " + percent(busy) + " of the time", busy, "ratio");
  tell(f, "meanwhile the training thread waits " + percent(e.steadyWait()) + " of the time",
       e.steadyWait(), "ratio");
  if (const double bytes = e.gains.workload().batchBytes; bytes > 0)
    tell(f, byteSize(bytes) + " a batch", bytes, "bytes");
  // The model has no stage for it: a quarter of the bytes leaves a quarter of its time, and the
  // wait ends where something else becomes the limit.
  const auto speedup = [&](double part) { return 1 / (1 - part * e.steadyWait()); };
  offer(f, adviceOf("copy_fewer_bytes", {"code", "dtype", "float32", "uint8"},
                    {speedup(0.5), speedup(0), speedup(1)},
                    "normalise on the device after the copy; only for data that fits in bytes"));
  return f;
}

}  // namespace stallprof
