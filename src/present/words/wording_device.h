// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

// What a report says of the devices, before any layout. Strings may hold bytes from the job.
namespace stallprof {

// A line of the block: what it is about, and its parts, side by side.
struct DeviceLine {
  std::string name;  // "busy", "idle", "kernels"
  std::vector<std::string> parts;
};
// Empty where no device was seen.
[[nodiscard]] std::vector<DeviceLine> deviceLines(const Analysis& a);

// A part of a device's idle time, in words: "launching", "waiting for data (transform)".
struct IdlePart {
  const char* name;
  double ratio;
  const char* path;  // in the JSON report, below idle_ratio
};
// All parts, by size.
[[nodiscard]] std::vector<IdlePart> idleParts(const DeviceInfo::IdleRatio& idle);

// "to device, pinned"
[[nodiscard]] std::string copyText(const DeviceInfo::Copy& copy);

}  // namespace stallprof
