// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device/device_time.h"
#include "analysis/facts/facts.h"
#include "classify/stack_labels.h"

namespace stallprof {

// The totals of an interval into `facts`: kernels by name, copies by kind and memory, calls by
// name, and what the monitoring library said of every device.
void sumDeviceUse(const Trace& trace, ProcessId process, const Interval& within,
                  DeviceFacts& facts);
// `trainer`: to others belongs what other processes do on the device.
[[nodiscard]] std::vector<DeviceGauge> readGauges(const Trace& trace, ProcessId trainer,
                                                  const Interval& within);

// The devices that the trainer worked on, most busy first; else those it holds memory on.
[[nodiscard]] std::vector<StringId> devicesUsed(const Trace& trace, const TrainerFacts& trainer);

// Long waits of the trainer's thread for the device: from so many a step on it waits in each.
inline constexpr double kWaitsEachStep = 0.5;
[[nodiscard]] double syncsPerStep(const TrainerFacts& trainer);  // 0: not known
// How many times as long a step takes while kernels are recorded as beside it; 1: not known.
[[nodiscard]] double tracingSlowdown(const TrainerFacts& trainer);
// What the thread has work for outside of them, at most, of the traced time.
[[nodiscard]] double hostWork(const DeviceFacts& facts);
// Where the thread waits in each step, and would keep ahead of the device without, the gaps in
// which it works are of these waits: DeviceIdle::launch and ::hostBridged become ::sync.
void settleGaps(TrainerFacts& trainer);

// Takes from the idle times what the recording of kernels itself made of them: a device of a step
// that is slower while it is traced idles for the difference.
void removeTracing(TrainerFacts& trainer);

// The user's line that most samples found the trainer at while it was blocked in calls of one kind.
[[nodiscard]] CallSite findSite(const Trace& trace, const StackLabels& labels,
                                const DeviceTimeline& devices, ThreadId trainer,
                                const Interval& within, bool copies);

}  // namespace stallprof
