// SPDX-License-Identifier: MIT
#pragma once

#include "event/event_struct.h"

// Events of accelerators: what the driver's monitoring library says from outside (DeviceUsage,
// DeviceProcess), and what the agent saw from inside the processes that use them. `device` is the
// UUID everywhere ("GPU-..." or "MIG-..."): ordinals differ from process to process. The rules of
// all events are in event.h.
namespace stallprof {

// A device as one process (none: as the monitoring library) sees it.
struct DeviceSeen {
  StringId device, name;  // UUID; "NVIDIA H100 80GB HBM3"
  ProcessId process;
  std::int32_t ordinal = -1;  // in that process, or the library's own index
  std::int32_t multiprocessors = -1, majorCapability = -1, minorCapability = -1;
  std::int64_t memoryBytes = -1;
  std::int32_t node = -1;  // of the host's memory that it is attached to, where the host says
  STALLPROF_EVENT(DEVICE_SEEN, "device", v("device", s.device), v("name", s.name),
                  v("process", s.process), v("ordinal", s.ordinal), v("sms", s.multiprocessors),
                  v("major", s.majorCapability), v("minor", s.minorCapability),
                  v("memory", s.memoryBytes), v("node", s.node))
};

// An interval in which what a process did on its devices was traced: all that happened within is
// reported by the other events. Device time outside of any interval is not known.
struct DeviceTrace {
  ProcessId process;
  Nanos duration{};
  bool kernels = false;  // false: copies and synchronizations only
  bool calls = false;    // launches, copies and allocations of the host are reported too
  bool each = false;     // every piece of work has its DeviceWork, every call its DeviceCall
  STALLPROF_EVENT(DEVICE_TRACE, "device_trace", v("process", s.process), v("duration", s.duration),
                  v("kernels", s.kernels), v("calls", s.calls), v("each", s.each))
};

// An interval in which a device was at work for one process: the union over its streams, joined
// over gaps shorter than kDeviceGap (wider ones where there are more than some hundred a second).
// Exactly `busy` of `duration` had something running, of that `copyOnly` nothing but copies and
// sets, `collectiveOnly` a collective and beside it nothing but those; the rest is compute. Work
// that ran longer than a flush may be reported late, by further spans for what it adds.
struct DeviceSpan {
  StringId device;
  ProcessId process;
  Nanos duration{}, busy{}, copyOnly{}, collectiveOnly{};
  std::uint32_t works = 0;  // kernels, graphs, copies and sets that began in it
  STALLPROF_EVENT(DEVICE_SPAN, "device_span", v("device", s.device), v("process", s.process),
                  v("duration", s.duration), v("busy", s.busy), v("copy_only", s.copyOnly),
                  v("collective_only", s.collectiveOnly), v("works", s.works))
};
// Shorter gaps are what one stream's next launch costs on the device itself, a few us; what a
// person can act on (a sync, a launch that came late) leaves more.
inline constexpr Nanos kDeviceGap{20'000};
// Calls as long are always events of their own, shorter ones where each piece of work is.
inline constexpr Nanos kLongCall{100'000};

// One kernel, graph launch, copy or set; only inside a DeviceTrace with `each`, and long copies.
struct DeviceWork {
  StringId device;
  ProcessId process;
  Nanos duration{};
  DeviceWorkKind kind = DeviceWorkKind::kKernel;
  StringId name;  // a kernel's, as the library gives it (mangled)
  std::uint32_t stream = 0, context = 0, correlation = 0;  // correlation: joins the DeviceCall
  std::int64_t bytes = -1;                                 // of a copy or set
  HostMemory memory = HostMemory::kUnknown;                // a copy's side on the host
  std::int64_t blocks = -1;                                // of a kernel's grid
  std::int32_t blockThreads = -1;
  STALLPROF_EVENT(DEVICE_WORK, "device_work", v("device", s.device), v("process", s.process),
                  v("duration", s.duration), v("kind", s.kind), v("name", s.name),
                  v("stream", s.stream), v("context", s.context), v("correlation", s.correlation),
                  v("bytes", s.bytes), v("memory", s.memory), v("blocks", s.blocks),
                  v("block_threads", s.blockThreads))
};

// All work of one name (kernels) or one kind (the rest) that ended within `duration` after `at`.
struct DeviceUse {
  StringId device;
  ProcessId process;
  Nanos duration{};
  DeviceWorkKind kind = DeviceWorkKind::kKernel;
  HostMemory memory = HostMemory::kUnknown;
  StringId name;  // "(other)": names beyond the most used of the interval, together
  std::uint64_t count = 0;
  Nanos time{};             // summed over works, which may overlap
  Nanos filled{-1};         // kernels: the same, each weighted by min(1, blocks / multiprocessors)
  std::int64_t bytes = -1;  // copies and sets
  STALLPROF_EVENT(DEVICE_USE, "device_use", v("device", s.device), v("process", s.process),
                  v("duration", s.duration), v("kind", s.kind), v("memory", s.memory),
                  v("name", s.name), v("count", s.count), v("time", s.time), v("filled", s.filled),
                  v("bytes", s.bytes))
};

// One call of a thread into the driver or runtime: those of 100 us and more (a wait for the device,
// mostly), and all inside a DeviceTrace with `each`.
struct DeviceCall {
  ThreadId thread;
  Nanos duration{};
  DeviceCallKind kind = DeviceCallKind::kOther;
  StringId name;  // "cudaStreamSynchronize"
  std::uint32_t correlation = 0;
  ProcessId process;  // always known; the thread is not where calls are not traced
  STALLPROF_EVENT(DEVICE_CALL, "device_call", v("thread", s.thread), v("duration", s.duration),
                  v("kind", s.kind), v("name", s.name), v("correlation", s.correlation),
                  v("process", s.process))
};

// All calls of one name by one thread that ended within `duration` after `at`.
struct DeviceCallUse {
  ThreadId thread;
  Nanos duration{};
  DeviceCallKind kind = DeviceCallKind::kOther;
  StringId name;
  std::uint64_t count = 0;
  Nanos time{};
  ProcessId process;  // as in DeviceCall
  STALLPROF_EVENT(DEVICE_CALL_USE, "device_calls", v("thread", s.thread), v("duration", s.duration),
                  v("kind", s.kind), v("name", s.name), v("count", s.count), v("time", s.time),
                  v("process", s.process))
};

// A range that the program or one of its libraries announced by NVTX; a mark has no duration.
// Ranges whose name says a phase are PhaseSpans beside.
struct Range {
  ThreadId thread;
  Nanos duration{};
  StringId name, domain, category;
  std::uint32_t depth = 0;  // of pushed ranges around it, in its thread and domain
  std::int64_t bytes = -1;  // NCCL's message size, where its payload says
  STALLPROF_EVENT(RANGE, "range", v("thread", s.thread), v("duration", s.duration),
                  v("name", s.name), v("domain", s.domain), v("category", s.category),
                  v("depth", s.depth), v("bytes", s.bytes))
};

// What the monitoring library says of a device, from outside; a few times a second. Thousandths
// are of the time, or of the peak, since the last sample. -1: this device or driver does not say.
struct DeviceUsage {
  StringId device;
  std::int32_t busyMilli = -1;                     // some kernel was running, of any process
  std::int32_t memoryBusyMilli = -1;               // its memory was being read or written
  std::int64_t memoryUsed = -1, memoryTotal = -1;  // bytes
  std::int64_t powerMilliwatts = -1, energyMillijoules = -1;  // energy: cumulative
  std::int32_t clockMhz = -1, maxClockMhz = -1, memoryClockMhz = -1, celsius = -1;
  std::int64_t throttleReasons = -1;                // NVML's bits, as they are
  Nanos powerThrottled{-1}, thermalThrottled{-1};   // cumulative
  std::int64_t receivedBytes = -1, sentBytes = -1;  // PCIe, cumulative
  std::int32_t smActiveMilli = -1, occupancyMilli = -1, tensorMilli = -1, dramMilli = -1;  // GPM
  STALLPROF_EVENT(DEVICE_USAGE, "device_usage", v("device", s.device), v("busy", s.busyMilli),
                  v("memory_busy", s.memoryBusyMilli), v("memory", s.memoryUsed),
                  v("memory_total", s.memoryTotal), v("power", s.powerMilliwatts),
                  v("energy", s.energyMillijoules), v("clock", s.clockMhz),
                  v("max_clock", s.maxClockMhz), v("memory_clock", s.memoryClockMhz),
                  v("celsius", s.celsius), v("throttle", s.throttleReasons),
                  v("power_throttled", s.powerThrottled),
                  v("thermal_throttled", s.thermalThrottled), v("rx", s.receivedBytes),
                  v("tx", s.sentBytes), v("sm_active", s.smActiveMilli),
                  v("occupancy", s.occupancyMilli), v("tensor", s.tensorMilli),
                  v("dram", s.dramMilli))
};

// A process that has memory on a device, as the monitoring library names it.
struct DeviceProcess {
  StringId device;
  ProcessId process;      // none: not of the job
  std::uint32_t pid = 0;  // in the recorder's pid namespace; 0: not visible there
  std::int64_t memoryBytes = -1;
  std::int32_t busyMilli = -1;
  STALLPROF_EVENT(DEVICE_PROCESS, "device_process", v("device", s.device), v("process", s.process),
                  v("pid", s.pid), v("memory", s.memoryBytes), v("busy", s.busyMilli))
};

}  // namespace stallprof
