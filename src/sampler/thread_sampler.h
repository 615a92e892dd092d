// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampler/file_log.h"
#include "sampler/get_next_watch.h"
#include "sampler/mounts.h"
#include "sampler/open_files.h"
#include "sampler/proc_file.h"
#include "sampler/process_tree.h"
#include "sampler/sampler.h"
#include "sampler/slice_builder.h"
#include "sampler/thread_looks.h"
#include "sampler/wait_class.h"

namespace stallprof {

// Every thread of the job, `hz` times a second: exact run and queue time from schedstat, and what
// it is blocked in. A thread that has not run since it was last seen blocked (its schedstat count
// stands still) is known to be blocked in the same call and costs one read; after a second of that
// it is looked at 20 times a second, after ten, 5 times. Beyond 16 threads those that stand share
// 1,000 looks a second, so that thousands of sleepers leave the pace to the others. What is told is
// bounded too: the more threads, the longer the stretch that one slice tells of.
class ThreadSampler : public Sampler {
 public:
  ThreadSampler(std::string root, ProcessTree& tree, unsigned hz = 100);

  // Longer than the pace while every thread rests.
  [[nodiscard]] Nanos period() const override;
  [[nodiscard]] bool leads() const override { return true; }
  void sample(Nanos now, EventOut& out) override;
  void finish(Nanos now, EventOut& out) override;
  void setPace(const Pace& pace) override;
  // Every look is given to `taker`, which must outlive the sampler.
  void giveLooks(LookTaker& taker) { taker_ = &taker; }
  // Looks a second at an active thread, in thousandths: RecorderUsage.milliHz.
  [[nodiscard]] std::uint32_t milliHz() const;
  [[nodiscard]] Nanos pacedCpu() const override { return pacedCpu_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

 private:
  struct Watched {
    std::uint32_t pid = 0, tid = 0;
    ProcessId process;
    KeptFile sched, call;
    SliceBuilder slice;
    SchedStat stat{Nanos{}, Nanos{}, -1};  // at the last look; count -1: none yet
    Seen seen;
    std::uint64_t futex = 0;  // the address it sleeps on, as last seen
    Nanos unchangedSince{}, used{};
    std::size_t place = 0;   // in turns_
    bool confirmed = false;  // its state was checked during this blocking episode
    bool asked = false;      // what it is blocked in, at least once
    bool gone = false;
    bool quick = false;  // looked at more often than a thread that rests
    bool older = false;  // than the recording
  };
  // Beside the threads, not in them: a pass over 5,000 must not touch 5,000 cache lines.
  struct Turn {
    Nanos due{};
    Watched* thread = nullptr;
  };
  void follow(Nanos now, EventOut& out);
  void drop(ThreadId id, Nanos at, EventOut& out);
  void lookAround(Nanos now, EventOut& out);
  void look(Watched& thread, Nanos now, EventOut& out);
  // True: it has not run since the last look.
  bool lookAgain(Watched& thread, const SchedStat& stat, Nanos now, EventOut& out);
  [[nodiscard]] Seen see(Watched& thread, Nanos now, EventOut& out);
  [[nodiscard]] Seen seeCall(Watched& thread, const SyscallLine& line, Nanos now, EventOut& out);
  [[nodiscard]] Seen seeDescriptor(Watched& thread, const CallClass& call, std::uint64_t fd,
                                   Nanos now, EventOut& out);
  [[nodiscard]] Seen seeWithoutSyscall(const Watched& thread, EventOut& out);
  [[nodiscard]] char stateOf(const Watched& thread) const;
  void confirm(Watched& thread);
  void makeRoom(const Watched& thread, Nanos now);
  [[nodiscard]] std::uint64_t random();
  void planNext(Watched& thread, bool stood, Nanos now);
  void setQuick(Watched& thread, bool quick);
  void boundSlices(Nanos now);
  void eachSecond(Nanos now, EventOut& out);
  void probe(Nanos now, EventOut& out);

  std::string root_;
  ProcessTree& tree_;
  LookTaker* taker_ = nullptr;
  Nanos fastest_;
  Pace pace_;
  Nanos::rep stretch_ = 1;  // the pace's period and turns, in units of the fastest
  std::uint64_t tick_ = 0, skipped_ = 0;
  std::unordered_map<ThreadId, Watched> threads_;
  std::vector<Turn> turns_;  // one for each of threads_
  FdBudget fds_;
  Mounts mounts_;
  FileLog files_;
  FdClassifier classifier_;
  OpenFiles openFiles_;
  GetNextWatch getNexts_;
  std::size_t quick_ = 0;  // threads that are
  bool probed_ = false, syscallDenied_ = false, wchanDenied_ = false;
  Nanos second_{}, window_{}, pacedCpu_{};
  std::uint64_t random_ = 88172645463325252ull;
};

}  // namespace stallprof
