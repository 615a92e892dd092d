// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "sampler/child_search.h"
#include "sampler/dead_lives.h"
#include "sampler/job_cpu.h"
#include "sampler/proc_file.h"
#include "sampler/proc_text.h"
#include "sampler/sampler.h"
#include "sampler/task_events.h"

namespace stallprof {

// A thread came or went.
struct ThreadChange {
  LiveThread thread;
  ProcessId process;
  std::uint32_t pid = 0;
  bool born = false;
  Nanos ended{};  // exact with task events, else when it was noticed
};

// A process of the job that is alive. `threads` is in order of discovery.
struct LiveProcess {
  ProcessId id, parent;
  std::uint32_t pid = 0;
  std::uint64_t startTicks = 0;
  std::string comm, exe;
  Nanos since{};
  std::vector<LiveThread> threads;
};

// The processes and threads of the job, by identity (pid and start time): once seen, a process
// stays of the job through setsid, double forks and the death of its parents. Task events tell of
// every birth, exec and death; without them /proc is looked at when its counters say that some task
// was born. One thread only.
class ProcessTree : public Sampler {
 public:
  // `root` is "/" or a fixture; `rootPid` the command. The tree begins with the first sample.
  ProcessTree(std::string root, pid_t rootPid);
  // Take births and deaths from `events`, which must outlive the tree. Before the first sample.
  void follow(TaskEvents& events) { events_ = &events; }
  // The command has run for long when it is first looked at: what was born earlier counts as born
  // at `t`, with the counters it has by then. Before the first sample.
  void noneBefore(Nanos t) { earliest_ = t; }
  // What was born before that: its counters do not begin with 0.
  [[nodiscard]] bool older(Nanos since) const { return since <= earliest_; }

  // 20 ms; while task events have told of nothing for two seconds 50, and up to 200 where threads
  // are looked at no more often.
  [[nodiscard]] Nanos period() const override;
  void setPace(const Pace& pace) override { pace_ = pace.period; }
  void sample(Nanos now, EventOut& out) override;
  // Everything still alive stays without a ProcessGone: it outlives the recording.
  void finish(Nanos now, EventOut& out) override;

  // Names for records that come from inside the job (hook, agent): dead lives are found too. A pid
  // not seen yet is registered and announced through the EventOut of the last sample. startTicks 0:
  // not known, the latest life of that pid.
  ProcessId processOf(std::uint32_t pid, std::uint64_t startTicks);
  ThreadId threadOf(ProcessId process, std::uint32_t tid);
  // That life of the pid has ended (or cannot be found alive).
  [[nodiscard]] bool gone(std::uint32_t pid, std::uint64_t startTicks) const;

  // Valid until the next non-const call.
  [[nodiscard]] const std::vector<LiveProcess>& processes() const { return live_; }
  [[nodiscard]] std::int64_t alive() const { return static_cast<std::int64_t>(live_.size()); }

  // CPU of the job, dead included, as far as told by accountCpu (ProcessSampler does, once a
  // second).
  [[nodiscard]] Nanos jobCpu() const { return cpu_.total(); }
  void beginCpuRound() { cpu_.nextRound(); }
  void accountCpu(const LiveProcess& process, Nanos own, Nanos waitedFor) {
    if (older(process.since))
      waitedFor -= waitedBefore_.try_emplace(process.id, waitedFor).first->second;
    cpu_.set(process.id, process.parent, own, waitedFor);
  }
  // Threads that came and went since the last call, in order. For one reader: the ThreadSampler.
  // Kept from keepChanges() on, called before the first sample.
  void keepChanges() { changesKept_ = true; }
  [[nodiscard]] std::vector<ThreadChange> takeChanges() { return std::exchange(changes_, {}); }
  // Another sampler found a task of this process gone: look at it at the next sample.
  void suspect(std::uint32_t pid);
  // Applies one event; sample() does this with what it drains. Any order is accepted.
  void take(const TaskEvent& event);

 private:
  // What the tree keeps beside each LiveProcess, at the same index.
  struct Watch {
    Fd taskDir;                // fstat's st_nlink - 2 is the number of threads
    std::uint64_t links = 0;   // at the last look; 0: list the threads
    std::int64_t unheard = 0;  // threads there are more than events told of, at the last look
    Nanos nextList{};
    std::uint64_t stack = 0;  // of the image that was announced
    bool suspect = false, announced = false, imageRead = false;
  };
  [[nodiscard]] LiveProcess* find(std::uint32_t pid);
  [[nodiscard]] LiveProcess* find(ProcessId id);
  [[nodiscard]] const LiveProcess* find(std::uint32_t pid) const;
  [[nodiscard]] Watch& watchOf(const LiveProcess& process);

  LiveProcess& add(const ProcStat& stat, Nanos since);
  ThreadId addThread(LiveProcess& process, std::uint32_t tid, Nanos since, std::string_view name);
  void remove(std::uint32_t pid, Nanos at);
  void removeThread(LiveProcess& process, std::uint32_t tid, Nanos at);
  void end(const LiveProcess& process, const LiveThread& thread, Nanos at);
  void readImage(LiveProcess& process, bool exec);
  void announce(LiveProcess& process);
  void announceThread(const LiveProcess& process, const LiveThread& thread, std::string_view name);
  void listThreads(LiveProcess& process);

  void begin();
  void takeEvents();
  void takeFork(const TaskEvent& event);
  void takeExit(const TaskEvent& event);
  void takeName(const TaskEvent& event);
  void announceNew();
  void lookAround();
  void checkProcesses(bool all);
  [[nodiscard]] bool mustList(const LiveProcess& process, Watch& watch, bool all) const;
  void checkProcess(std::size_t index, bool all);
  void lookForChildren();
  void tellSources();
  [[nodiscard]] Nanos bornAt(std::uint64_t startTicks) const;

  template <class P>
  void emit(Nanos at, const P& payload) {
    if (out_ != nullptr) out_->emit(at, payload);
  }

  std::string root_;
  pid_t rootPid_;
  TaskEvents* events_ = nullptr;
  std::vector<TaskEvent> drained_;
  std::unordered_set<std::uint32_t> earlyExits_;

  std::vector<LiveProcess> live_;
  std::vector<Watch> watches_;
  std::unordered_map<std::uint32_t, std::size_t> byPid_;
  DeadLives dead_;
  std::vector<ThreadChange> changes_;
  ChildSearch search_;
  std::uint32_t nextProcess_ = 1, nextThread_ = 1;
  bool begun_ = false, born_ = false, changesKept_ = false;
  Nanos earliest_ = Nanos::min();
  Nanos now_{}, nextScan_{}, nextCheck_{}, searchCost_{}, lastEvent_{}, pace_{};
  FdBudget fds_;
  JobCpu cpu_;
  std::unordered_map<ProcessId, Nanos> waitedBefore_;  // of processes that are older than we are
  EventOut* out_ = nullptr;
};

}  // namespace stallprof
