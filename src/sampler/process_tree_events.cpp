// SPDX-License-Identifier: MIT
// The part of the tree that takes what the kernel tells of births, execs and deaths.
#include <algorithm>

#include "sampler/process_tree.h"

namespace stallprof {
namespace {

constexpr std::size_t kEarlyExits = 4096;

}  // namespace

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
  // Its exit came first (other CPU's ring): a life nobody can look at any more, but it was there.
  const bool over = earlyExits_.erase(event.tid) > 0;
  if (event.pid == event.parentPid) {
    LiveProcess* process = find(event.pid);
    if (process == nullptr) return;
    addThread(*process, event.tid, event.at, {});
    if (over) removeThread(*process, event.tid, event.at);
    return;
  }
  const LiveProcess* parent = find(event.parentPid);
  if (const LiveProcess* known = find(event.pid); known != nullptr) {
    // Found in /proc before its event was read; unless that was an earlier life of the number.
    if (event.at - known->since < std::chrono::seconds(1)) return;
    remove(event.pid, event.at);
    parent = find(event.parentPid);
  }
  // System-wide events tell of everybody's children.
  if (parent == nullptr && events_ != nullptr && events_->systemWide()) return;
  ProcStat stat;
  stat.pid = event.pid;
  stat.parent = event.parentPid;
  if (parent != nullptr) stat.comm = parent->comm;
  add(stat, std::min(event.at, now_));
  if (over) remove(event.pid, event.at);
}

void ProcessTree::takeExit(const TaskEvent& event) {
  LiveProcess* process = find(event.pid);
  if (process == nullptr) {
    if (earlyExits_.size() >= kEarlyExits) earlyExits_.clear();
    earlyExits_.insert(event.tid);
    return;
  }
  if (event.at < process->since) return;  // of an earlier life of this pid
  const bool known = std::any_of(process->threads.begin(), process->threads.end(),
                                 [&](const LiveThread& t) { return t.tid == event.tid; });
  if (!known && event.tid != event.pid) {
    if (earlyExits_.size() >= kEarlyExits) earlyExits_.clear();
    earlyExits_.insert(event.tid);
  }
  if (known && process->threads.size() == 1) return remove(event.pid, event.at);
  removeThread(*process, event.tid, event.at);
  watchOf(*process).suspect = true;  // threads that were never announced may be what is left
}

void ProcessTree::takeName(const TaskEvent& event) {
  LiveProcess* process = find(event.pid);
  if (process == nullptr) return;
  const bool exec = event.kind == TaskEvent::Kind::kExec;
  if (exec) {  // only the caller survives an exec, as the main thread
    const std::vector<LiveThread> before = process->threads;
    for (const LiveThread& thread : before)
      if (thread.tid != event.pid) removeThread(*process, thread.tid, event.at);
    addThread(*process, event.pid, event.at, event.comm);
  }
  if (event.tid == event.pid) process->comm = event.comm;
  Watch& watch = watchOf(*process);
  if (!watch.announced) {  // will be, with its latest name
    if (exec) process->exe.clear();
    return;
  }
  if (exec) {
    readImage(*process, true);
    process->comm = event.comm;
    announce(*process);
  }
  for (const LiveThread& thread : process->threads)
    if (thread.tid == event.tid) announceThread(*process, thread, event.comm);
}

void ProcessTree::takeEvents() {
  if (events_ == nullptr || !events_->opened()) return;
  drained_.clear();
  events_->drain(drained_);
  for (const TaskEvent& event : drained_) take(event);
  if (!drained_.empty()) lastEvent_ = now_;
  if (const std::uint64_t lost = events_->takeLost(); lost > 0) {
    emit(now_, Loss{LossKind::kPerfLost, lost, {}});
    nextScan_ = now_;
    born_ = true;
  }
}

}  // namespace stallprof
