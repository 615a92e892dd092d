// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampler/perf_rings/task_events.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/child_search.h"
#include "sampler/processes/exited_processes.h"
#include "sampler/processes/job_cpu.h"
#include "sampler/processes/live_processes.h"
#include "sampler/processes/process_announcer.h"

namespace stallprof {

// A thread came or went.
struct ThreadChange {
  LiveThread thread;
  ProcessId process;
  std::uint32_t pid = 0;
  bool born = false;
  Nanos ended{};  // exact with task events, else when it was noticed
};

// The processes and threads of the job, by identity (pid and start time): once seen, a process
// stays of the job through setsid, double forks and the death of its parents. Task events report
// every birth, exec and death; without them /proc is read when its counters say that some task
// was born. One thread only.
class ProcessTree : public Sampler {
 public:
  // `root` is "/" or a fixture; `rootPid` the command. The tree begins with the first sample.
  ProcessTree(std::string root, pid_t rootPid);
  // Take births and deaths from `events`, which must outlive the tree. Before the first sample.
  void follow(TaskEvents& events) { events_ = &events; }
  [[nodiscard]] std::uint32_t command() const { return static_cast<std::uint32_t>(rootPid_); }
  // The command has run for long when it is first seen: what was born earlier counts as born
  // at `t`, with the counters it has by then. Before the first sample.
  void noneBefore(Nanos t) { earliest_ = t; }
  // What was born before that: its counters do not begin with 0.
  [[nodiscard]] bool older(Nanos since) const { return since <= earliest_; }

  // 20 ms; while task events have reported nothing for two seconds 50, and up to 200 where threads
  // are sampled no more often.
  [[nodiscard]] Nanos period() const override;
  void setPace(const Pace& pace) override { pace_ = pace.period; }
  void sample(Nanos now, EventOut& out) override;

  // Names for records that come from inside the job (hook, agent): exited processes are found too.
  // A pid not seen yet is registered and announced through the EventOut of the last sample.
  // startTicks 0: not known, the latest life of that pid. None, where a job has named thousands
  // that nobody saw (the numbers are its own), and where there is no descriptor or memory to find
  // out.
  ProcessId processOf(std::uint32_t pid, std::uint64_t startTicks);
  ThreadId threadOf(ProcessId process, std::uint32_t tid);
  // That life of the pid has ended (or cannot be found alive). False where there is no descriptor
  // or memory to find out: what it still writes would be lost.
  [[nodiscard]] bool gone(std::uint32_t pid, std::uint64_t startTicks) const;

  // Valid until the next non-const call.
  [[nodiscard]] const std::vector<LiveProcess>& processes() const { return live_.all(); }
  [[nodiscard]] std::int64_t alive() const { return static_cast<std::int64_t>(live_.size()); }

  // CPU of the job, exited processes included, as far as the accounts go (the ProcessSampler sets
  // them once a second).
  [[nodiscard]] Nanos jobCpu() const { return cpu_.total(); }
  [[nodiscard]] JobCpu& cpu() { return cpu_; }
  // Threads that came and went since the last call, in order. For one reader: the ThreadSampler.
  // Kept from keepChanges() on, called before the first sample.
  void keepChanges() { changesKept_ = true; }
  [[nodiscard]] std::vector<ThreadChange> takeChanges() { return std::exchange(changes_, {}); }
  // Another sampler found a task of this process gone: check it at the next sample.
  void suspect(std::uint32_t pid);
  // Applies one event; sample() does this with what it drains. Any order is accepted.
  void take(const TaskEvent& event);

 private:
  LiveProcess& add(const ProcStat& stat, Nanos since);
  ThreadId addThread(LiveProcess& process, std::uint32_t tid, Nanos since, std::string_view name);
  void remove(LiveProcess& process, Nanos at);
  void removeThread(LiveProcess& process, std::uint32_t tid, Nanos at);
  void end(const LiveProcess& process, const LiveThread& thread, Nanos at);
  void listThreads(LiveProcess& process);
  struct EndedThread {
    ProcessId process;
    ThreadId id;
    std::uint32_t tid = 0;
  };
  ThreadId endedThread(ProcessId process, std::uint32_t tid);
  void keepEnded(const EndedThread& thread);

  void begin(EventOut& out);
  void takeEvents();
  void takeFork(const TaskEvent& event);
  void takeExit(const TaskEvent& event);
  void takeName(const TaskEvent& event);
  void announceNew();
  void scanThreads();
  void checkProcesses(bool all);
  [[nodiscard]] bool mustList(const LiveProcess& process, ProcessWatch& watch, bool all) const;
  [[nodiscard]] bool wasSilenced(const LiveProcess& process, Nanos at);
  // Every birth and death of all of them is reported.
  [[nodiscard]] bool hears() const { return follows() && silenced_.empty(); }
  [[nodiscard]] bool follows() const { return events_ != nullptr && events_->opened(); }
  void checkProcess(std::size_t index, bool all);
  Nanos findChildren(bool whole);  // what it cost
  void reportSources(EventOut& out);
  [[nodiscard]] Nanos bornAt(std::uint64_t startTicks) const;

  std::string root_;
  pid_t rootPid_;
  TaskEvents* events_ = nullptr;
  std::vector<TaskEvent> drained_;
  EarlyExits earlyExits_;

  LiveProcesses live_;
  ProcessAnnouncer announcer_;
  ExitedProcesses exited_;
  std::deque<EndedThread> ended_;  // of live processes; the last ones
  std::vector<ThreadChange> changes_;
  ChildSearch search_;
  std::uint32_t nextProcess_ = 1, nextThread_ = 1;
  std::string silenced_;  // the first process that the kernel stopped reporting, as words
  bool silencedSaid_ = false;
  std::size_t unseen_ = 0, unseenThreads_ = 0;  // that records alone have named
  bool begun_ = false, born_ = false, changesKept_ = false;
  Nanos earliest_ = Nanos::min();
  Nanos now_{}, nextScan_{}, nextWhole_{}, nextCheck_{}, lastEvent_{}, pace_{};
  FdBudget fds_;
  JobCpu cpu_;
};

}  // namespace stallprof
