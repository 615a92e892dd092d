// SPDX-License-Identifier: MIT
#include "sampler/host/allowed_cpus.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {

// The union over its threads: each of them may have been pinned alone (OMP_PROC_BIND).
CpuMask AllowedCpus::maskOf(const LiveProcess& process) const {
  if (!isLive(root_))
    return allowedInStatus(contentOf(processPath(root_, process.pid, "status"), 1u << 16));
  CpuMask mask;
  for (const LiveThread& thread : process.threads)
    mask |= affinityOf(static_cast<pid_t>(thread.tid)).value_or(CpuMask());
  return mask;
}

// Since its start.
Nanos AllowedCpus::spentBy(const LiveProcess& process) const {
  if (isLive(root_)) return cpuOf(static_cast<pid_t>(process.pid));
  const auto stat = parseStat(contentOf(processPath(root_, process.pid, "stat"), 4096));
  return stat ? tickLength() * (stat->userTicks + stat->systemTicks) : Nanos(-1);
}

// Their indices by the CPU that they lately used, least first, with that time in seconds.
std::vector<std::pair<double, std::size_t>> AllowedCpus::byRecentCpu(
    const std::vector<LiveProcess>& processes) {
  constexpr double kKept = 15.0 / 16;  // of each round in the next: a second in 16
  std::unordered_map<std::uint32_t, Spent> spent;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Spent one = spent_[processes[i].pid];
    const Nanos all = std::max(Nanos::zero(), spentBy(processes[i]));
    one.recent = kKept * one.recent + std::max(0.0, seconds(all - std::exchange(one.all, all)));
    order.emplace_back(one.recent, i);
    spent.emplace(processes[i].pid, one);
  }
  spent_ = std::move(spent);
  std::sort(order.begin(), order.end());
  return order;
}

// Of processes that may run on different CPUs: of those that use CPU, and of idle ones that are
// pinned elsewhere. An idle one that may run wherever the others may, as the shell or launcher of a
// pinned training, does not widen it.
CpuMask AllowedCpus::maskOfBusy(const std::vector<LiveProcess>& processes,
                                const std::vector<CpuMask>& masks) {
  constexpr double kIdle = 0.02;  // of the job's CPU
  const auto order = byRecentCpu(processes);
  double all = 0;
  for (const auto& [recent, index] : order) all += recent;
  std::vector<std::size_t> idle;
  CpuMask busy;
  double sum = 0;
  for (const auto& [recent, index] : order) {
    sum += recent;
    if (sum < kIdle * all)
      idle.push_back(index);
    else
      busy |= masks[index];
  }
  CpuMask mask = busy;
  for (const std::size_t index : idle)
    if ((busy & ~masks[index]).any()) mask |= masks[index];
  return mask;
}

void AllowedCpus::readMask(const std::vector<LiveProcess>& processes) {
  CpuMask mask;
  std::vector<CpuMask> masks;
  for (const LiveProcess& process : processes) mask |= masks.emplace_back(maskOf(process));
  if (std::any_of(masks.begin(), masks.end(), [&](const CpuMask& one) { return one != mask; }))
    mask = maskOfBusy(processes, masks);
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
