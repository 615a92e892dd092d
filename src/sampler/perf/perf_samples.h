// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event/vocabulary.h"
#include "sampler/perf/perf_records.h"
#include "sampler/processes/perf_ring.h"

namespace stallprof {

// Inherited software cpu-clock events on the command, one a CPU: where its threads are each
// kNativePeriod of CPU time, in which files, and the births, execs and deaths that say whose files.
// Needs no counters of the CPU's own. On a thread that switches often it costs 0.3 to 0.4 us a
// switch, on each new thread 8 to 10 us a CPU, hence the limit of TaskEvents::kMaxCpus. The
// kernel's side is sampled where that is permitted.
class PerfSamples {
 public:
  PerfSamples() = default;
  PerfSamples(const PerfSamples&) = delete;

  // While the command is held; where it runs already, on every thread of it and of its descendants
  // that there is by now, and whatever those start. False: see why().
  bool open(pid_t command, unsigned hz);
  // Appends what came since the last call, in order of time over all CPUs; what is younger than
  // half a millisecond comes with the next call (`all`: now).
  void drain(std::vector<PerfRecord>& records, bool all = false);
  // Records the kernel dropped since the last call.
  [[nodiscard]] std::uint64_t takeLost();
  // No more samples; what was taken can still be drained.
  void stop();

  [[nodiscard]] bool opened() const { return !rings_.empty(); }
  [[nodiscard]] Coverage state() const { return state_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  [[nodiscard]] int openAll(std::span<const pid_t> tasks, Nanos period, bool kernel, bool buildIds);
  [[nodiscard]] int openCpu(std::span<const pid_t> tasks, const perf_event_attr& attributes,
                            int cpu);
  void refuse(int error);

  std::vector<PerfRing> rings_;  // one a CPU
  std::vector<PerfRecord> waiting_;
  std::unique_ptr<std::uint8_t[]> scratch_;
  std::uint64_t lost_ = 0;
  Coverage state_ = Coverage::kAbsent;
  std::string why_ = "not opened";
};

}  // namespace stallprof
