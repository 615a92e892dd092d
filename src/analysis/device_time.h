// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/roles.h"
#include "trace/trace.h"

namespace stallprof {

struct Interval {
  Nanos begin{}, end{};
};
using Intervals = std::vector<Interval>;  // by time, none touching the next

[[nodiscard]] Intervals joined(Intervals any);
[[nodiscard]] Nanos lengthIn(const Intervals& all, Nanos begin, Nanos end);

// [begin, end) in pieces, each wholly inside or outside of `all`: visit(from, to, inside).
template <class Visit>
void divide(const Intervals& all, Nanos begin, Nanos end, Visit&& visit) {
  auto next = std::partition_point(all.begin(), all.end(),
                                   [&](const Interval& i) { return i.end <= begin; });
  for (; begin < end; ++next) {
    const Nanos inside = next == all.end() ? end : std::min(end, std::max(begin, next->begin));
    if (inside > begin) visit(begin, inside, false);
    if (next == all.end()) return;
    const Nanos until = std::min(end, next->end);
    if (until > inside) visit(inside, until, true);
    begin = std::max(inside, until);
  }
}

// A call of the trainer's own thread in which it stands still: by its correlation, or the copy that
// lies in it, a copy to the device is told from one that fetches a result (which waits for it).
struct StandingCall {
  Nanos begin{}, end{};
  bool copy = false;  // to the device; false: waits for the device
};

// The devices one process uses, and when they worked for it.
struct DeviceTimeline {
  struct Device {
    StringId id;
    std::vector<const Timed<DeviceSpan>*> spans;  // by time, none over another
  };
  std::vector<Device> devices;      // in order of appearance
  Intervals traced;                 // kernels are told of
  Intervals told;                   // copies and synchronizations are
  Intervals busy;                   // some device worked; to be asked inside of `traced` alone
  Intervals copies;                 // of `each` or long ones: a copy to the device was under way
  std::vector<StandingCall> calls;  // of the trainer's thread, by time, none over another
  ProcessId process;
  bool seen = false;

  // Of [begin, end): enough was traced to tell the rest from it.
  [[nodiscard]] bool enoughIn(Nanos begin, Nanos end) const;
};

// A trainer without a process (a run where nobody steps): that of the process with most work.
[[nodiscard]] DeviceTimeline readDevices(const Trace& trace, TrainerIdentity who);

}  // namespace stallprof
