// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"

namespace stallprof {

// The report's `device` block; null where no device was seen. It restates, and judges nothing.
[[nodiscard]] Maybe<DeviceInfo> describeDevice(const Trace& trace, const TrainerFacts& trainer);

// Names of all devices that were seen, one each.
[[nodiscard]] std::vector<std::string> deviceNames(const Trace& trace);

// Floating-point operations a second, and what that is from: the tensor cores' active time at the
// clock meanwhile, an upper bound. Null where the device does not report it.
struct FlopsEstimate {
  double perSecond = 0;
  std::string basis;
};
[[nodiscard]] Maybe<FlopsEstimate> estimateFlops(const Trace& trace, const TrainerFacts& trainer);

// full | windowed | nvtx | nvml | none: how much of the trainer's window was seen of its devices.
[[nodiscard]] std::string deviceTier(const Trace& trace, const TrainerFacts& trainer);

// Share of the time that the trainer's devices were busy: of the traced time, or what the
// monitoring library says where nothing was traced. Null where neither is known.
[[nodiscard]] Maybe<double> deviceBusyRatio(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
