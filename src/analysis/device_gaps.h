// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/blame.h"
#include "analysis/device_facts.h"
#include "analysis/device_time.h"
#include "analysis/pieces.h"

namespace stallprof {

// What the trainer's time is known as, for the naming of idle time.
struct TrainerTime {
  const TrainerTimeline& line;
  const Line& pieces;
  const Producers& producers;
};

// The traced time of [begin, end) of each device that the trainer uses: busy, or idle and why. An
// idle instant is named by what the trainer's thread did at it; inside a step, by the gap: after
// the trainer had waited for the device it is sync, else it is the launching (kLaunchGap).
[[nodiscard]] std::vector<DeviceBusy> blameDevices(const TrainerTime& trainer,
                                                   const DeviceTimeline& devices, Nanos begin,
                                                   Nanos end);

}  // namespace stallprof
