// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"

namespace stallprof {

// What the devices say, as shares of the window: measured in its traced part, and taken for the
// rest of it. Of several devices the busiest, as it is the one that others wait for.
struct DeviceEvidence {
  bool seen = false;       // the trainer uses a device
  bool timeline = false;   // its busy and idle time is known: all shares below are
  bool estimated = false;  // from a part of the window
  std::size_t devices = 0;
  double busy = 0, kernels = 0, copies = 0, collectives = 0;  // copies: nothing but copies
  double idleSync = 0, idleLaunch = 0;                        // DeviceIdle
  double longGaps = 0;                                        // DeviceFacts
  double hostGaps = 0;  // of these, in which the training thread runs code of the step, by samples;
                        // 0: too few of them
  double hostWork = 1;  // of the trainer's thread, at most: not in a wait for the device
  double idleOfOthers = 0;  // for data, copies and collectives, not the trainer's own work
  double hiddenWait = 0;
  double blocking = 0;  // of the trainer's thread, in copies to the device
  // Of the time whose copies were recorded: to the device from pageable and from pinned memory.
  double pageable = 0, pinned = 0;
  double pageableRate = 0, pinnedRate = 0;  // bytes a second; 0: not known, or too small copies
  double pinnedBytes = 0;                   // a step
  double kernelsPerStep = 0, kernelSeconds = 0;  // one kernel's mean
  double filled = 0;  // of the multiprocessors, by the grids; 0: not known
  double syncsPerStep = 0;
  double slowdown = 1;                 // of steps while they are traced
  const DeviceGauge* gauge = nullptr;  // of the busiest device; null: not watched

  // Busy enough for nothing but its own work to matter. By the timeline, or by the monitoring
  // library, which counts a single small kernel as busy.
  [[nodiscard]] bool bound() const;
};

[[nodiscard]] DeviceEvidence deviceEvidence(const Trace& trace, const TrainerFacts& trainer);

}  // namespace stallprof
