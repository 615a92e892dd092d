// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/steps/roles.h"
#include "base/interval.h"
#include "trace/trace.h"

namespace stallprof {

// A call in which the trainer's own thread is blocked. By its correlation, or the copy that lies in
// it, a copy to the device is distinguished from one that fetches a result (which waits for it).
struct BlockingCall : Interval {
  bool copy = false;  // to the device; false: waits for the device
};

// The devices one process uses, and when they worked for it.
struct DeviceTimeline {
  struct Device {
    StringId id;
    std::vector<const Timed<DeviceSpan>*> spans;  // by time, none over another
  };
  std::vector<Device> devices;      // in order of appearance
  Intervals traced;                 // kernels are recorded
  Intervals covered;                // copies and synchronizations are
  Intervals busy;                   // some device worked; to be asked inside of `traced` alone
  Intervals copies;                 // of `each` or long ones: a copy to the device was under way
  std::vector<BlockingCall> calls;  // of the trainer's thread, by time, none over another
  ProcessId process;
  bool seen = false;

  // Enough of `window` was traced to estimate the rest from it.
  [[nodiscard]] bool enoughIn(const Interval& window) const;
};

// Where no device worked for kLaunchGap or longer, in the traced part of `window`, but for the
// calls in which the trainer's thread was blocked.
[[nodiscard]] Intervals longGaps(const DeviceTimeline& devices, const Interval& window);

// Launched, not copied or set: a kernel, or a graph of them.
[[nodiscard]] bool isKernel(DeviceWorkKind kind);

// The longest interval that has each piece of a process's work; null: none has.
[[nodiscard]] const Timed<DeviceTrace>* longestOfEach(const Trace& trace, ProcessId process);

// A trainer without a process (a run where nobody steps): that of the process with most work.
[[nodiscard]] DeviceTimeline readDevices(const Trace& trace, TrainerIdentity who);

}  // namespace stallprof
