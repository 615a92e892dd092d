// SPDX-License-Identifier: MIT
#include "sampler/processes/child_search.h"

#include <fcntl.h>

#include "base/fd.h"
#include "sampler/proc/proc_file.h"
#include "sampler/processes/process_image.h"

namespace stallprof {
// /proc/loadavg ends with the newest pid: unchanged, no task was born in this pid namespace.
bool ChildSearch::tasksWereBorn() {
  const std::string text = newest_.read(under(root_, "proc/loadavg"), 256);
  const std::size_t blank = text.rfind(' ');
  if (text.empty() || blank == std::string::npos) return true;
  return std::exchange(lastPid_, text.substr(blank + 1)) != lastPid_;
}

ChildSearch::Found ChildSearch::find(const std::vector<Task>& threads) {
  Found found;
  Pids ours;
  for (const auto& [pid, tid] : threads) ours.insert(pid);
  const bool few = threads.size() <= kListsWorth;
  if (lists_ && few) readLists(threads, ours, found);
  if (!lists_ || !few) scan(ours, found);
  return found;
}

// A list a thread, and then those of what was found. The first thread's list decides whether the
// kernel has any.
void ChildSearch::readLists(std::vector<Task> tasks, Pids& ours, Found& found) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto [pid, tid] = tasks[i];
    ++found.samples;
    const Fd file = openAt(AT_FDCWD, threadPath(root_, pid, tid, "children").c_str(), O_RDONLY);
    if (!file.valid() && i == 0) {
      lists_ = false;
      return;
    }
    if (!file.valid()) continue;
    char text[16384];
    for (const std::string_view word : splitWords(preadSmall(file.get(), text), 4096)) {
      const auto child = static_cast<std::uint32_t>(parseNumber(word).value_or(0));
      if (child == 0 || !ours.insert(child).second) continue;
      if (auto stat = statOf(root_, child)) {
        tasks.emplace_back(child, child);
        found.born.push_back(std::move(*stat));
      } else {
        ++found.missed;
      }
    }
  }
}

// Every pid of /proc that is not known to be another's; those are asked again in turn, because
// their number may have been given to a child since.
void ChildSearch::scan(Pids& ours, Found& found) {
  constexpr std::uint64_t kTurns = 16;
  ++scans_;
  std::vector<ProcStat> fresh;
  forEachNumber(under(root_, "proc"), [&](std::uint32_t pid) {
    ++found.samples;
    if (ours.contains(pid)) return;
    const auto other = foreign_.find(pid);
    if (other != foreign_.end() && pid % kTurns != scans_ % kTurns) {
      other->second = scans_;
      return;
    }
    if (auto stat = statOf(root_, pid); stat && stat->state != 'Z')
      fresh.push_back(std::move(*stat));
  });
  for (bool more = true; more;) {
    more = false;
    for (ProcStat& stat : fresh) {
      if (stat.pid == 0 || !ours.contains(stat.parent)) continue;
      foreign_.erase(stat.pid);
      ours.insert(stat.pid);
      found.born.push_back(stat);
      stat.pid = 0;
      more = true;
    }
  }
  for (const ProcStat& stat : fresh)
    if (stat.pid != 0) foreign_[stat.pid] = scans_;
  std::erase_if(foreign_, [&](const auto& entry) { return entry.second != scans_; });
}

}  // namespace stallprof
