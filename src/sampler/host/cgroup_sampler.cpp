// SPDX-License-Identifier: MIT
#include "sampler/host/cgroup_sampler.h"

#include <algorithm>
#include <utility>

#include "sampler/proc/proc_file.h"

namespace stallprof {
namespace {

constexpr std::size_t kAskedAtOnce = 16;  // processes a second; a read takes 10 us
constexpr std::size_t kMaxGroups = 64;

// A sum that goes on where the group changed: by how much the new group's differs.
template <class T>
void carry(T CgroupUsage::*field, CgroupUsage& base, const CgroupUsage& last,
           const CgroupUsage& fresh) {
  base.*field = last.*field >= T{} && fresh.*field >= T{} ? last.*field - fresh.*field : T{};
}

template <class T>
void addBase(T CgroupUsage::*field, CgroupUsage& usage, const CgroupUsage& base) {
  if (usage.*field >= T{}) usage.*field += base.*field;
}

}  // namespace

CgroupUsage CgroupSampler::none() {
  CgroupUsage usage;
  usage.periods = usage.throttledPeriods = usage.oomKills = 0;
  usage.throttled = usage.cpu = Nanos::zero();
  return usage;
}

std::string CgroupSampler::groupOf(pid_t pid) {
  const std::string text =
      contentOf(processPath(root_, static_cast<std::uint32_t>(pid), "cgroup"), 1u << 16);
  if (text.empty()) return text;
  if (groups_.size() < kMaxGroups && !groups_.contains(text))
    groups_[text].paths = findCgroups(root_, pid);
  return text;
}

void CgroupSampler::findGroups() {
  std::vector<std::uint32_t> pids;
  if (tree_ != nullptr)
    for (const LiveProcess& process : tree_->processes()) pids.push_back(process.pid);
  if (pids.empty()) pids.push_back(static_cast<std::uint32_t>(pid_));
  std::erase_if(seen_, [&](const auto& entry) {
    return std::find(pids.begin(), pids.end(), entry.first) == pids.end();
  });
  for (std::size_t i = 0; i < std::min(kAskedAtOnce, pids.size()); ++i) {
    const std::uint32_t pid = pids[next_++ % pids.size()];
    if (std::string group = groupOf(static_cast<pid_t>(pid)); !group.empty())
      seen_[pid] = std::move(group);
  }
  for (auto& [key, group] : groups_) group.used = false;
  for (const auto& [pid, key] : seen_)
    if (const auto group = groups_.find(key); group != groups_.end()) group->second.used = true;
  if (std::erase_if(groups_, [&](const auto& entry) { return !entry.second.used; }) > 0)
    files_.closeAll();
}

void CgroupSampler::reportSource(Nanos now, EventOut& out) const {
  const auto has = [&](auto member) {
    return std::any_of(groups_.begin(), groups_.end(),
                       [&](const auto& entry) { return !(entry.second.paths.*member).empty(); });
  };
  const bool cpu = has(&CgroupPaths::cpu), memory = has(&CgroupPaths::memory);
  emitSource(out, now, "cgroup",
             cpu && memory   ? Coverage::kFull
             : cpu || memory ? Coverage::kPartial
                             : Coverage::kAbsent,
             cpu && memory ? ""
             : cpu         ? "the memory controller is not mounted"
             : memory      ? "the cpu controller is not mounted"
                           : "no control group file system is mounted");
}

void CgroupSampler::sample(Nanos now, EventOut& out) {
  findGroups();
  if (!std::exchange(reported_, true)) reportSource(now, out);
  measure(now, out);
}

// The command is gone, and with it what says of which group it was. What killed it is in the
// figures of the groups known so far.
void CgroupSampler::finish(Nanos now, EventOut& out) {
  groups_.empty() ? sample(now, out) : measure(now, out);
}

void CgroupSampler::measure(Nanos now, EventOut& out) {
  CgroupUsage tightest;
  const std::string* found = nullptr;
  for (const auto& [key, group] : groups_) {
    if (group.paths.version == 0) continue;
    const CgroupUsage usage = readCgroups(group.paths, files_);
    const bool less = usage.cpuQuotaMilli > 0 &&
                      (tightest.cpuQuotaMilli <= 0 || usage.cpuQuotaMilli < tightest.cpuQuotaMilli);
    if (found != nullptr && !less) continue;
    tightest = usage;
    found = &key;
  }
  if (found == nullptr) return;
  const auto sums = [&](auto change) {
    change(&CgroupUsage::periods);
    change(&CgroupUsage::throttledPeriods);
    change(&CgroupUsage::oomKills);
    change(&CgroupUsage::throttled);
    change(&CgroupUsage::cpu);
  };
  if (!current_.empty() && current_ != *found)
    sums([&](auto field) { carry(field, base_, last_, tightest); });
  sums([&](auto field) { addBase(field, tightest, base_); });
  current_ = *found;
  last_ = tightest;
  out.emit(now, tightest);
}

}  // namespace stallprof
