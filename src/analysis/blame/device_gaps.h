// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blame/blame.h"
#include "analysis/device/device_time.h"
#include "analysis/facts/device_facts.h"
#include "analysis/steps/pieces.h"

namespace stallprof {

// What the trainer's time is known as, for the naming of idle time.
struct TrainerTime {
  const TrainerTimeline& timeline;
  const Timeline& pieces;
  const Producers& producers;
};

// The traced time of `window` of each device that the trainer uses: busy, or idle and why. An
// idle instant is named by what the trainer's thread did at it; inside a step, by the gap: after
// the trainer had waited for the device it is sync, else the launching; longer, its own work
// (kLaunchGap).
[[nodiscard]] std::vector<DeviceBusy> blameDevices(const TrainerTime& trainer,
                                                   const DeviceTimeline& devices,
                                                   const Interval& window);

}  // namespace stallprof
