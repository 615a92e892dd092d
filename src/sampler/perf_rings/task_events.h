// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "event/vocabulary.h"
#include "sampler/perf_rings/perf_ring.h"

namespace stallprof {

// What the kernel reports of the job's tasks: births, deaths, execs and renames, in order of time.
struct TaskEvent {
  enum class Kind : std::uint8_t { kFork, kExit, kExec, kName };
  Kind kind = Kind::kFork;
  std::uint32_t pid = 0, tid = 0;  // of the task it is about
  std::uint32_t parentPid = 0;     // kFork and kExit
  Nanos at{};                      // CLOCK_MONOTONIC
  std::string comm;                // kExec and kName: may hold any byte
};

// Inherited perf "dummy" events on the command, one a CPU: every descendant reports its fork, exec
// and exit without anyone reading (10,000 of 10,000 children of 1 ms seen; polling /proc sees few).
// They tax thread creation by 8-10 us a CPU, hence the limit of kMaxCpus. Needs
// perf_event_paranoid <= 2 and a seccomp filter that allows perf_event_open; without it everything
// below stays callable and state() says why.
class TaskEvents {
 public:
  static constexpr int kMaxCpus = 32;

  explicit TaskEvents(RingBudget& budget = RingBudget::ofProcess()) : budget_(budget) {}
  TaskEvents(TaskEvents&&) = delete;

  // Call while the command waits to be released, before its exec. False: see state() and why().
  bool open(pid_t command);
  // Appends what came since the last call, in order of time over all CPUs; what is younger than
  // half a millisecond comes with the next call.
  void drain(std::vector<TaskEvent>& events);
  // Records the kernel dropped since the last call.
  [[nodiscard]] std::uint64_t takeLost();

  // Above kMaxCpus the events are everybody's, and the reader must find out whose a birth is.
  [[nodiscard]] bool systemWide() const { return systemWide_; }
  [[nodiscard]] bool opened() const { return !rings_.empty(); }
  [[nodiscard]] Coverage state() const { return state_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  bool openCpu(pid_t command, int cpu, std::size_t pages);
  void take(std::span<const std::uint8_t> record);
  void refuse(int error, int cpus);

  RingBudget& budget_;
  std::vector<PerfRing> rings_;
  std::unique_ptr<std::uint8_t[]> scratch_;
  std::vector<TaskEvent> waiting_;
  std::uint64_t lost_ = 0;
  bool systemWide_ = false;
  Coverage state_ = Coverage::kAbsent;
  std::string why_ = "not opened";
};

}  // namespace stallprof
