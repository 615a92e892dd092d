// SPDX-License-Identifier: MIT
// load.transfer_bandwidth: a batch's bytes fill the link to the device.
#include <algorithm>

#include "analysis/findings/device_rules.h"
#include "analysis/findings/fixes.h"

namespace stallprof {
namespace {

// Pinned copies of the slowest link that is common beside today's devices (PCIe 3, 16 lanes) reach
// 11 to 13 GB/s; what is below is held up by something else than the link.
constexpr double kLinkSpeed = 10e9;

// Bytes that become a quarter take a quarter of the time; where the device sets the pace, the step
// gets as much shorter.
Advice copyFewerBytes(const Evidence& e) {
  const auto saved = [&](double part) {
    const double off = part * e.device.copies;
    return Saved{off * std::min(1.0, e.device.busy), part * e.device.blocking, off};
  };
  return adviceOf(kCopyFewerBytes, {"code", "dtype", "float32", "uint8"},
                  predictSaved(e, saved(0.7), saved(0.1), saved(0.9),
                               "seven tenths of the copying, at most nine tenths, goes"),
                  "normalise on the device after the copy; only for data that fits in bytes");
}

Maybe<Finding> transferBandwidth(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.pinned <= kNotable || d.copies <= kNotable || d.pinned < d.pageable)
    return {};
  if (d.pinnedRate < kLinkSpeed) return {};
  Finding f = deviceFinding(e, d.copies, "A batch's bytes fill the link to the device");
  addEvidence(f, "the device does nothing but copy {} of the time", {ratioWord(d.copies)});
  addEvidence(f, "pinned copies go at {}, as fast as links get", {rateWord(d.pinnedRate)});
  if (d.pinnedBytes > 0) addEvidence(f, "{} a step", {bytesWord(d.pinnedBytes)});
  return withAdvice(f, {copyFewerBytes(e)});
}

}  // namespace

extern const FindingDefinition kTransferBandwidth(
    "load.transfer_bandwidth", transferBandwidth, offers(kCopyFewerBytes),
    {.cause = R"(The bytes of a batch fill the link to the device.)",
     .rule = R"(pinned copies run at over 10 GB/s, about what the slowest link beside a current
  device carries, and for over 5 % of the window the device does nothing but copy.)",
     .fixes = R"(- uint8 or half precision on the way; normalise on the device.
- Fewer bytes: crop on the host; a copy stream that runs a batch ahead.)",
     .wrong = R"(the link is shared with another device, or the device is attached with
  fewer lanes than it could.)"});

}  // namespace stallprof
