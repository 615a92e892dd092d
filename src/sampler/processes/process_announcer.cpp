// SPDX-License-Identifier: MIT
#include "sampler/processes/process_announcer.h"

#include <utility>

#include "sampler/processes/process_image.h"

namespace stallprof {

void ProcessAnnouncer::readImage(LiveProcess& process, ProcessWatch& watch, bool exec) const {
  const auto stat = statOf(root_, process.pid);
  watch.readable = stat && isLifeOf(root_, process, stat->startTicks);
  if (watch.readable) {
    process.comm = stat->comm;
    watch.stack = stat->stack;
    process.startTicks = stat->startTicks;
  }
  const std::string exe = watch.readable ? programOf(root_, process.pid) : "";
  if (!exe.empty() || exec) process.exe = exe;
}

void ProcessAnnouncer::announce(const LiveProcess& process, ProcessWatch& watch, Nanos now) {
  if (out_ == nullptr) return;
  ProcessSeen seen;
  seen.process = process.id;
  seen.parent = process.parent;
  seen.pid = process.pid;
  seen.startTicks = process.startTicks;
  seen.comm = out_->intern(process.comm);
  seen.exe = out_->intern(process.exe);
  if (watch.readable) {
    const std::string command = commandOf(root_, process.pid);
    const bool kept = commands_.take(command);
    seen.command = out_->intern(kept ? command : command.substr(0, command.find(' ')));
  }
  emit(watch.announced ? now : process.since, seen);
  if (!std::exchange(watch.announced, true))
    for (const LiveThread& thread : process.threads) announceThread(process, thread, {});
}

void ProcessAnnouncer::announceThread(const LiveProcess& process, const LiveThread& thread,
                                      std::string_view name) {
  if (out_ == nullptr) return;
  std::string read;
  if (name.empty() && thread.tid == process.pid) name = process.comm;
  if (name.empty()) {
    read = threadNameOf(root_, process.pid, thread.tid);
    name = read;
  }
  emit(thread.since, ThreadSeen{thread.id, process.id, thread.tid, out_->intern(name)});
}

}  // namespace stallprof
