// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {

// Searches /proc for processes born of the job: in the lists of children that a kernel with
// CONFIG_PROC_CHILDREN keeps for each thread, else among all processes. Knows nothing of the job
// but what each call passes.
class ChildSearch {
 public:
  // One of the job's threads, by pid and tid.
  using Task = std::pair<std::uint32_t, std::uint32_t>;
  struct Found {
    std::vector<ProcStat> born;  // parents before their children
    std::uint64_t missed = 0;    // named as a child, gone before it was read
    std::size_t samples = 0;     // lists and entries read: what it cost, about 5 us each
  };

  // A list a thread: with more threads than a host usually has processes, /proc itself is shorter.
  static constexpr std::size_t kListsWorth = 512;

  explicit ChildSearch(std::string root) : root_(std::move(root)) {}

  // Whether a task was born in this pid namespace since the last call.
  [[nodiscard]] bool tasksWereBorn();
  // `threads`: all of the job, its first process's main thread first.
  [[nodiscard]] Found find(const std::vector<Task>& threads);
  // The kernel has lists of children.
  [[nodiscard]] bool listed() const { return lists_; }

 private:
  using Pids = std::unordered_set<std::uint32_t>;
  void readLists(std::vector<Task> tasks, Pids& ours, Found& found);
  void scan(Pids& ours, Found& found);

  std::string root_, lastPid_;
  KeptFiles newest_{1};  // /proc/loadavg
  bool lists_ = true;
  std::uint64_t scans_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> foreign_;  // pids of others, by scan number
};

}  // namespace stallprof
