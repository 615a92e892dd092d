// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device/device_time.h"
#include "analysis/facts/device_facts.h"
#include "classify/stack_labels.h"

namespace stallprof {

// The totals of [begin, end) into `facts`: kernels by name, copies by kind and memory, calls by
// name, and what the monitoring library said of every device.
void sumDeviceUse(const Trace& trace, ProcessId process, Nanos begin, Nanos end,
                  DeviceFacts& facts);
// `trainer`: to others belongs what other processes do on the device.
[[nodiscard]] std::vector<DeviceGauge> readGauges(const Trace& trace, ProcessId trainer,
                                                  Nanos begin, Nanos end);

// The user's line that most samples found the trainer at while it was blocked in calls of one kind.
[[nodiscard]] CallSite findSite(const Trace& trace, const StackLabels& labels,
                                const DeviceTimeline& devices, ThreadId trainer, Nanos begin,
                                Nanos end, bool copies);

}  // namespace stallprof
