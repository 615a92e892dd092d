// SPDX-License-Identifier: MIT
// The part of the tree that takes the kernel's events of births, execs and deaths.
#include <algorithm>

#include "sampler/processes/process_image.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {
void ProcessTree::take(const TaskEvent& event) {
  switch (event.kind) {
    case TaskEvent::Kind::kFork:
      return takeFork(event);
    case TaskEvent::Kind::kExit:
      return takeExit(event);
    case TaskEvent::Kind::kExec:
    case TaskEvent::Kind::kName:
      return takeName(event);
  }
}

void ProcessTree::takeFork(const TaskEvent& event) {
  // Its exit came first (other CPU's ring): nothing can be read of it any more, but it was there.
  const bool over = earlyExits_.take(event.tid, event.at);
  if (event.pid == event.parentPid) {
    LiveProcess* process = live_.find(event.pid);
    if (process == nullptr) return;
    addThread(*process, event.tid, event.at, {});
    if (over) removeThread(*process, event.tid, event.at);
    return;
  }
  const LiveProcess* parent = live_.find(event.parentPid);
  if (LiveProcess* known = live_.find(event.pid); known != nullptr) {
    // Found in /proc before its event was read; unless that was an earlier life of the number.
    if (event.at - known->since < std::chrono::seconds(1)) return;
    remove(*known, event.at);
    parent = live_.find(event.parentPid);
  }
  // System-wide events include everybody's children.
  if (parent == nullptr && events_ != nullptr && events_->systemWide()) return;
  ProcStat stat;
  stat.pid = event.pid;
  stat.parent = event.parentPid;
  if (parent != nullptr) stat.comm = parent->comm;
  LiveProcess& process = add(stat, std::min(event.at, now_));
  process.forkedAt = event.at;
  if (over) remove(process, event.at);
}

void ProcessTree::takeExit(const TaskEvent& event) {
  LiveProcess* process = live_.find(event.pid);
  if (process == nullptr) {
    earlyExits_.add(event.tid, event.at);
    return;
  }
  if (event.at < process->since) return;  // of an earlier life of this pid
  const bool known = process->thread(event.tid) != nullptr;
  if (!known && event.tid != event.pid) earlyExits_.add(event.tid, event.at);
  if (known && process->threads.size() == 1 && wasSilenced(*process, event.at)) return;
  if (known && process->threads.size() == 1) return remove(*process, event.at);
  removeThread(*process, event.tid, event.at);
  live_.watchOf(*process).suspect = true;  // threads that were never announced may be what is left
}

// From a program that gets other rights by its exec (sudo, any set-user-ID one) the kernel takes
// our events away as if it had ended, and reports nothing of what it starts. By its memory it
// lives.
bool ProcessTree::wasSilenced(const LiveProcess& process, Nanos at) {
  constexpr Nanos kAfterExec = std::chrono::milliseconds(50);  // usually 0.1
  const Nanos exec = live_.watchOf(process).execAt;
  if (exec == Nanos(0) || at - exec > kAfterExec) return false;
  const auto stat = quickStatOf(root_, process.pid);
  const bool lives = stat && stat->state != 'Z' && stat->state != 'X' && stat->virtualBytes > 0 &&
                     isLifeOf(root_, process, stat->startTicks);
  if (lives && silenced_.empty())
    silenced_ = "process " + std::to_string(process.pid) + " (" + process.comm + ")";
  return lives;
}

void ProcessTree::takeName(const TaskEvent& event) {
  LiveProcess* process = live_.find(event.pid);
  if (process == nullptr) return;
  const bool exec = event.kind == TaskEvent::Kind::kExec;
  if (exec) {  // only the caller survives an exec, as the main thread
    const std::vector<LiveThread> before = process->threads;
    for (const LiveThread& thread : before)
      if (thread.tid != event.pid) removeThread(*process, thread.tid, event.at);
    addThread(*process, event.pid, event.at, event.comm);
  }
  if (event.tid == event.pid) process->comm = event.comm;
  ProcessWatch& watch = live_.watchOf(*process);
  if (exec) watch.execAt = event.at;
  if (!watch.announced) {  // will be, with its latest name
    if (exec) process->exe.clear();
    return;
  }
  if (exec) {
    announcer_.readImage(*process, watch, true);
    process->comm = event.comm;
    announcer_.announce(*process, watch, now_);
  }
  if (const LiveThread* thread = process->thread(event.tid))
    announcer_.announceThread(*process, *thread, event.comm);
}

void ProcessTree::takeEvents() {
  if (!follows()) return;
  drained_.clear();
  events_->drain(drained_);
  for (const TaskEvent& event : drained_) take(event);
  if (!drained_.empty()) lastEvent_ = now_;
  if (const std::uint64_t lost = events_->takeLost(); lost > 0) {
    announcer_.emit(now_, Loss{LossKind::kPerfLost, lost, {}});
    nextScan_ = now_;
    born_ = true;
  }
}

}  // namespace stallprof
