// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event/sampled_events.h"
#include "sampler/proc/cpu_mask.h"
#include "sampler/proc/proc_text.h"
#include "sampler/processes/live_processes.h"

namespace stallprof {

// The CPUs that the job may run on (its threads' affinity, which a cpuset has cut; where processes
// differ, of those that use CPU), and what all programs together did on these since the first call.
// Others' use of CPUs that the job may not use takes nothing from it. One thread.
class AllowedCpus {
 public:
  explicit AllowedCpus(std::string root) : root_(std::move(root)) {}

  // `stat` is the text of /proc/stat. Without a thread alive the last mask is kept.
  void update(const std::vector<LiveProcess>& processes, std::string_view stat);
  [[nodiscard]] const CpuMask& mask() const { return mask_; }
  // Fills in what is known of the allowed CPUs: cumulative, all of them together.
  void fill(HostUsage& usage) const;

 private:
  struct Spent {
    Nanos all{};        // since the process's start
    double recent = 0;  // seconds of the last quarter of a minute, about
  };
  void readMask(const std::vector<LiveProcess>& processes);
  [[nodiscard]] CpuMask maskOf(const LiveProcess& process) const;
  [[nodiscard]] Nanos spentBy(const LiveProcess& process) const;
  std::vector<std::pair<double, std::size_t>> byRecentCpu(
      const std::vector<LiveProcess>& processes);
  CpuMask maskOfBusy(const std::vector<LiveProcess>& processes, const std::vector<CpuMask>& masks);
  void findSharedCores();
  void count(std::size_t cpu, const CpuTimes& now);

  std::string root_;
  std::unordered_map<std::uint32_t, Spent> spent_;  // by pid, while processes differ
  CpuMask mask_, beside_;    // beside: hardware threads of the same cores that are not in the mask
  std::int64_t cores_ = -1;  // of the mask's CPUs; -1: not known
  std::vector<CpuTimes> last_;
  std::vector<bool> known_;
  Nanos busy_{}, steal_{}, besideBusy_{};
};

}  // namespace stallprof
