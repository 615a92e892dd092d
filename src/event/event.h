// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <variant>

#include "base/time.h"
#include "event/device_events.h"
#include "event/hook_events.h"
#include "event/native_events.h"
#include "event/recording_events.h"
#include "event/sampled_events.h"

// THE list of what can be recorded. One struct a kind, in a header for each kind of witness;
// `Event` is any of them.
//
// Each struct names its fields once, in `fields(self, visit)`: encode, decode, the text form and
// the event memory are all that one list, visited. Rules:
//  - the order in `fields` is on disk: append only, never reorder (a shorter record from an older
//    version leaves the tail at its defaults);
//  - field types: integers, bool, Nanos, the enums of vocabulary.h, and ids;
//  - counters are cumulative since the process, device or host began; -1 means "not known".
namespace stallprof {

using Payload =
    std::variant<ProcessSeen, ProcessGone, ThreadSeen, ThreadGone, ThreadSlice, ProcessUsage,
                 HostUsage, DiskUsage, NetworkUsage, CgroupUsage, FileSeen, SyscallCount,
                 FrameworkSeen, LoaderSeen, IteratorBegin, Fetch, WorkerBegin, WorkerTask,
                 OptimizerStep, PhaseSpan, ClockPair, SourceState, Loss, Gap, CommandEnd,
                 RecorderUsage, SignalForwarded, StackSeen, StackSlice, DeviceSeen, DeviceTrace,
                 DeviceSpan, DeviceWork, DeviceUse, DeviceCall, DeviceCallUse, Range, DeviceUsage,
                 DeviceProcess, NativeSlice, CounterUsage, SamplingPause, SlowSamples, LoopTurns,
                 SettingChanged, NativePlace, StepPlace>;

// A table of 256 entries indexed by an event's kind: `make.template operator()<P>()` for the struct
// P of that kind, a default Entry (a null pointer) for numbers no kind has. What decode, the event
// memory and the text form use in place of a switch: a new kind is in every table by being in
// Payload.
template <class Entry, class Make>
[[nodiscard]] constexpr std::array<Entry, 256> tableByKind(Make make) {
  std::array<Entry, 256> table{};
  const auto fill = [&]<class... P>(std::variant<P...>*) {
    ((table[P::kKind] = make.template operator()<P>()), ...);
  };
  fill(static_cast<Payload*>(nullptr));
  return table;
}

// `at`: when it happened, or when the interval it covers began; CLOCK_MONOTONIC of the host.
// Events of one stream are in order of writing, not of `at`.
struct Event {
  Nanos at{};
  Payload payload;
};

}  // namespace stallprof
