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
Prediction withFewerBytes(const Evidence& e) {
  const double copies = e.device.copies, own = copies * std::min(1.0, e.device.busy);
  return predictSaved(e, {own, e.device.blocking, copies}, {0.7, 0.1, 0.9},
                      "seven tenths of the copying is removed, at most nine tenths");
}

Maybe<Finding> transferBandwidth(const Evidence& e) {
  const DeviceEvidence& d = e.device;
  if (!d.timeline || d.pinned <= kNotable || d.copies <= kNotable || d.pinned < d.pageable)
    return {};
  if (d.pinnedRate < kLinkSpeed) return {};
  Finding f = deviceFinding(e, d.copies, "Copies of batches saturate the link to the device");
  addEvidence(f, "the device only copies {} of the time", {ratioWord(d.copies)});
  addEvidence(f, "pinned copies reach {}, near the maximum of links", {rateWord(d.pinnedRate)});
  if (d.pinnedBytes > 0) addEvidence(f, "{} per step", {bytesWord(d.pinnedBytes)});
  return withAdvice(f, {copyFewerBytes(withFewerBytes(e))});
}

}  // namespace

extern const FindingDefinition kTransferBandwidth(
    "load.transfer_bandwidth", transferBandwidth, offers(kCopyFewerBytes),
    {.cause = R"(The copies of batches saturate the link to the device.)",
     .rule =
         R"(pinned copies run at over 10 GB/s, which is about the capacity of the slowest link of a
  current device. For over 5 % of the window the device only copies.)",
     .fixes = R"(- Transfer uint8 or half precision; normalise on the device.
- Fewer bytes: crop on the host; a copy stream that runs a batch ahead.)",
     .wrong = R"(the link is shared with another device, or the device uses fewer lanes than
  possible.)"});

}  // namespace stallprof
