// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "event/vocabulary.h"
#include "sampler/perf/drawn_period.h"
#include "sampler/perf_rings/perf_records.h"
#include "sampler/perf_rings/perf_ring.h"

namespace stallprof {

// Software cpu-clock events: where the job's threads are each kNativePeriod of CPU time, on average
// (DrawnPeriod), in which files, and the births, execs and deaths that say whose files. Needs no
// counters of the CPU's own. The kernel's side is sampled where that is permitted. On a thread that
// switches often an event costs 0.3 to 0.4 us a switch.
//
// On hosts of up to TaskEvents::kMaxCpus CPUs they are inherited events on the command, one a CPU:
// no thread is missed, and each new one is held up for 8 to 10 us a CPU. On larger hosts that would
// be a millisecond, so each thread gets one event of its own, on whatever CPU it runs, when
// `follow` gets its number: what it ran before is not seen, and no birth is held up.
class PerfSamples {
 public:
  static constexpr std::size_t kMaxThreads = 1024;  // with an event each: a descriptor and 20 KiB

  explicit PerfSamples(RingBudget& budget = RingBudget::ofProcess());
  PerfSamples(const PerfSamples&) = delete;

  // While the command is held; where it runs already, on every thread of it and of its descendants
  // that there is by now, and whatever those start. False: see why().
  bool open(pid_t command, Nanos asked);
  // Appends what came since the last call, in order of time over all CPUs; what is younger than
  // half a millisecond comes with the next call (`all`: now).
  void drain(std::vector<PerfRecord>& records, bool all = false);
  // Records the kernel dropped since the last call.
  [[nodiscard]] std::uint64_t takeLost();
  // No samples, nor births, execs and mappings, until `on` again; what was taken can be drained.
  void enable(bool on);
  // No more samples; what was taken can still be drained. The events are closed: one that is only
  // disabled is inherited all the same, and holds up each birth.
  void stop();

  // How many threads get an event of their own, where each needs one: kMaxThreads, or fewer where
  // this process may have few descriptors.
  [[nodiscard]] std::size_t threadLimit() const { return threadLimit_; }
  // Only with an event a thread: opens those of `threads` that are new, up to threadLimit(), and
  // closes the others'. Call it as threads come and go. False: some thread got none now.
  [[nodiscard]] bool follow(std::span<const pid_t> threads, std::vector<PerfRecord>& records);
  [[nodiscard]] bool eachThread() const { return eachThread_; }
  [[nodiscard]] std::size_t rings() const { return rings_.size(); }

  [[nodiscard]] bool opened() const { return opened_; }
  [[nodiscard]] Coverage state() const { return state_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  [[nodiscard]] int openAll(std::span<const pid_t> tasks, Nanos period, bool kernel, bool buildIds);
  [[nodiscard]] int openCpu(std::span<const pid_t> tasks, const perf_event_attr& attributes,
                            int cpu, std::size_t pages);
  [[nodiscard]] int openEach(std::span<const pid_t> tasks, Nanos period, bool kernel,
                             bool buildIds);
  [[nodiscard]] int openThread(pid_t thread);  // 0, or errno
  void drainRing(PerfRing& ring);
  void draw(Nanos now);

  RingBudget& budget_;
  const std::size_t threadLimit_;
  std::map<int, PerfRing> rings_;  // by CPU, or by thread
  std::set<int> refused_;          // threads that got no event
  bool eachThread_ = false, opened_ = false;
  std::optional<perf_event_attr> attributes_;  // of a thread's event
  DrawnPeriod period_;
  Nanos current_{}, nextDraw_{};  // of the opened events, and until when
  std::vector<PerfRecord> waiting_;
  std::unique_ptr<std::uint8_t[]> scratch_;
  std::uint64_t lost_ = 0;
  Coverage state_ = Coverage::kAbsent;
  std::string why_ = "not opened";
};

}  // namespace stallprof
