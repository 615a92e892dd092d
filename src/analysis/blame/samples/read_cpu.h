// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "base/interval.h"
#include "trace/trace.h"

namespace stallprof {

// What a minor page fault costs here at most, seconds of CPU: system time over faults, between
// samples where faults are most of what a process does in the kernel (the start of an interpreter,
// new workers). Null where there were none.
[[nodiscard]] Maybe<double> faultSeconds(const Trace& trace);
// Minor page faults of the trainer's workers a second of their CPU, between samples of their usage
// in the window. Without each worker's first such interval: it copies pages that it shares with the
// training process, and imports. Null where under 0.2 s of their CPU are left.
[[nodiscard]] Maybe<double> workerFaultsPerSecond(const Trace& trace, const TrainerFacts& trainer);

// A process that makes batches, from when to when, and how long it was seen blocked in reads.
struct Reader {
  ProcessId process;
  Interval span;
  Nanos blocked{};
  Nanos making{};  // its CPU in fetches, of a process that trains, too; 0: all of its CPU makes
};

// Rule `cpu.read_calls`: the share of the readers' CPU that was spent in read calls, where no stack
// shows it. It is system time less what their page faults cost (faults of fresh memory are system
// time too, and are not reading), and never more than their read calls and bytes can cost, or, of
// sockets, whose calls are not counted, than they were blocked in reads. A lower bound as far as
// faults go, as their cost is taken at its most; an upper one for programs that spend system time
// otherwise (huge pages, locks between threads). 0 below what ticks of system time resolve.
[[nodiscard]] double readCpuShare(const Trace& trace, const std::vector<Reader>& readers);

inline constexpr const char* kReadCpuRule = "cpu.read_calls";

}  // namespace stallprof
