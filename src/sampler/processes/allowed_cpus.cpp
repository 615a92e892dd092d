// SPDX-License-Identifier: MIT
#include "sampler/processes/allowed_cpus.h"

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
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu)
    if (mask_[cpu])
      beside_ |=
          parseCpuList(contentOf(under(root_, "sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                                  "/topology/thread_siblings_list"),
                                 4096));
  beside_ &= ~mask_;
}

void AllowedCpus::count(std::size_t cpu, const Times& now) {
  if (cpu >= last_.size()) {
    last_.resize(cpu + 1);
    known_.resize(cpu + 1);
  }
  // A CPU that was off and on again may begin with 0 again.
  const auto grown = [&](Nanos Times::*field) {
    return std::max(Nanos::zero(), now.*field - last_[cpu].*field);
  };
  if (known_[cpu] && mask_[cpu]) {
    busy_ += grown(&Times::busy);
    steal_ += grown(&Times::steal);
  } else if (known_[cpu] && beside_[cpu]) {
    besideBusy_ += grown(&Times::busy);
  }
  last_[cpu] = now;
  known_[cpu] = true;
}

void AllowedCpus::update(const std::vector<LiveProcess>& processes, std::string_view stat) {
  readMask(processes);
  forEachLine(stat, [&](std::string_view line) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') return;
    const auto words = splitWords(line, 9);
    const auto cpu = parseNumber(words[0].substr(3));
    if (!cpu || *cpu < 0 || static_cast<std::size_t>(*cpu) >= kMaxCpus || words.size() < 8) return;
    const auto ticks = [&](std::size_t i) {
      return i < words.size() ? tickLength() * parseNumber(words[i]).value_or(0) : Nanos::zero();
    };
    count(static_cast<std::size_t>(*cpu),
          {ticks(1) + ticks(2) + ticks(3) + ticks(6) + ticks(7), ticks(8)});
  });
}

void AllowedCpus::fill(HostUsage& usage) const {
  if (mask_.none() || last_.empty()) return;
  usage.allowedCpus = static_cast<std::int64_t>(mask_.count());
  usage.allowedBusy = busy_;
  usage.allowedSteal = steal_;
  if (beside_.any()) usage.besideBusy = besideBusy_;
}

}  // namespace stallprof
