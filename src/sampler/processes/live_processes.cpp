// SPDX-License-Identifier: MIT
#include "sampler/processes/live_processes.h"

#include <algorithm>
#include <utility>

namespace stallprof {

std::size_t LiveProcess::indexOf(std::uint32_t tid) const {
  if (!byTid_.empty()) {
    const auto found = byTid_.find(tid);
    return found == byTid_.end() ? threads.size() : found->second;
  }
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [&](const LiveThread& t) { return t.tid == tid; });
  return static_cast<std::size_t>(found - threads.begin());
}

const LiveThread* LiveProcess::thread(std::uint32_t tid) const {
  const std::size_t index = indexOf(tid);
  return index == threads.size() ? nullptr : &threads[index];
}

void LiveProcess::add(const LiveThread& thread) {
  threads.push_back(thread);
  if (byTid_.empty() && threads.size() <= kFew) return;
  for (std::size_t i = byTid_.empty() ? 0 : threads.size() - 1; i < threads.size(); ++i)
    byTid_[threads[i].tid] = static_cast<std::uint32_t>(i);
}

bool LiveProcess::remove(std::uint32_t tid) {
  const std::size_t index = indexOf(tid);
  if (index == threads.size()) return false;
  threads[index] = threads.back();
  threads.pop_back();
  if (byTid_.empty()) return true;
  byTid_.erase(tid);
  if (index < threads.size()) byTid_[threads[index].tid] = static_cast<std::uint32_t>(index);
  return true;
}

LiveProcess* LiveProcesses::find(std::uint32_t pid) {
  const auto found = byPid_.find(pid);
  return found == byPid_.end() ? nullptr : &processes_[found->second];
}

const LiveProcess* LiveProcesses::find(std::uint32_t pid) const {
  const auto found = byPid_.find(pid);
  return found == byPid_.end() ? nullptr : &processes_[found->second];
}

LiveProcess* LiveProcesses::find(ProcessId id) {
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const LiveProcess& process) { return process.id == id; });
  return found == processes_.end() ? nullptr : &*found;
}

std::size_t LiveProcesses::indexOf(const LiveProcess& process) const {
  return static_cast<std::size_t>(&process - processes_.data());
}

ProcessWatch& LiveProcesses::watchOf(const LiveProcess& process) {
  return watches_[indexOf(process)];
}

LiveProcess& LiveProcesses::add(LiveProcess process) {
  byPid_[process.pid] = processes_.size();
  processes_.push_back(std::move(process));
  watches_.emplace_back();
  return processes_.back();
}

void LiveProcesses::remove(const LiveProcess& process) {
  const std::size_t index = indexOf(process);
  byPid_.erase(process.pid);
  if (index + 1 != processes_.size()) {
    processes_[index] = std::move(processes_.back());
    watches_[index] = std::move(watches_.back());
    byPid_[processes_[index].pid] = index;
  }
  processes_.pop_back();
  watches_.pop_back();
}

}  // namespace stallprof
