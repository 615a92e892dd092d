// SPDX-License-Identifier: MIT
#include "sampler/host/allowed_cpus.h"

#include <algorithm>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {

// The union over all threads: each of them may have been pinned alone (OMP_PROC_BIND).
void AllowedCpus::readMask(const std::vector<LiveProcess>& processes) {
  CpuMask mask;
  for (const LiveProcess& process : processes) {
    if (!isLive(root_)) {
      mask |= allowedInStatus(contentOf(processPath(root_, process.pid, "status"), 1u << 16));
      continue;
    }
    for (const LiveThread& thread : process.threads)
      mask |= affinityOf(static_cast<pid_t>(thread.tid)).value_or(CpuMask());
  }
  if (mask.none() || mask == mask_) return;
  mask_ = mask;
  findSharedCores();
}

void AllowedCpus::findSharedCores() {
  beside_.reset();
  CpuMask counted;
  cores_ = 0;
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!mask_[cpu]) continue;
    const CpuMask core =
        parseCpuList(contentOf(under(root_, "sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                                "/topology/thread_siblings_list"),
                               4096));
    beside_ |= core;
    if (core.none()) cores_ = -1;
    if (cores_ >= 0 && !counted[cpu]) ++cores_;
    counted |= core;
  }
  beside_ &= ~mask_;
}

void AllowedCpus::count(std::size_t cpu, const CpuTimes& now) {
  if (cpu >= last_.size()) {
    last_.resize(cpu + 1);
    known_.resize(cpu + 1);
  }
  // A CPU that was off and on again may begin with 0 again.
  const auto grown = [&](Nanos CpuTimes::*field) {
    return std::max(Nanos::zero(), now.*field - last_[cpu].*field);
  };
  if (known_[cpu] && mask_[cpu]) {
    busy_ += grown(&CpuTimes::busy);
    steal_ += grown(&CpuTimes::steal);
  } else if (known_[cpu] && beside_[cpu]) {
    besideBusy_ += grown(&CpuTimes::busy);
  }
  last_[cpu] = now;
  known_[cpu] = true;
}

void AllowedCpus::update(const std::vector<LiveProcess>& processes, std::string_view stat) {
  readMask(processes);
  forEachLine(stat, [&](std::string_view line) {
    const auto times = parseCpuTimes(line);
    if (!times || line[3] == ' ') return;  // a space: the line of all CPUs
    const auto cpu = parseNumber(line.substr(3));
    if (cpu && *cpu >= 0 && static_cast<std::size_t>(*cpu) < kMaxCpus)
      count(static_cast<std::size_t>(*cpu), *times);
  });
}

void AllowedCpus::fill(HostUsage& usage) const {
  if (mask_.none() || last_.empty()) return;
  usage.allowedCpus = static_cast<std::int64_t>(mask_.count());
  usage.allowedCores = cores_;
  usage.allowedBusy = busy_;
  usage.allowedSteal = steal_;
  if (beside_.any()) usage.besideBusy = besideBusy_;
}

}  // namespace stallprof
