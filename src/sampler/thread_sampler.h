// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"
#include "sampler/processes/thread_samples.h"
#include "sampler/slice_builder.h"
#include "sampler/wait_reader.h"

namespace stallprof {

// Samples every thread of the job at the pace that it is given: exact run and queue time from
// schedstat (run time alone from stat, in ticks, where there is none), and what it is blocked in. A
// thread whose schedstat count is what it was when it was last seen blocked has not run since, so
// it is blocked in the same call and costs one read; after a second of that it is sampled 20 times
// a second, after ten, 5 times. Beyond 16 threads the blocked ones share 1,000 samples a second, so
// that thousands of sleepers leave the pace to the others; those that run less than 0.5 % of their
// time share with them, except a process's first thread, which may be a training that waits: it is
// sampled once a second at least, at any pace that allows it. Threads that train are sampled in
// every round, whoever takes turns (prefer). Where the pace is slower than was asked for, threads
// of native code in a process whose other threads have stacks to be read (pools, in one that runs
// Python) are sampled at a quarter of it: a pool of 25 left its trainer 9 samples a second. What is
// written is bounded too: the more threads, the longer the interval that one slice covers.
class ThreadSampler : public Sampler {
 public:
  ThreadSampler(std::string root, ProcessTree& tree);

  // Longer than the pace while every thread rests.
  [[nodiscard]] Nanos period() const override;
  [[nodiscard]] bool leads() const override { return true; }
  void sample(Nanos now, EventOut& out) override;
  void finish(Nanos now, EventOut& out) override;
  // The time since the sample before the pause is not what the first one after it sees: a slice of
  // no samples, unless the thread has not run in between.
  void resume(Nanos now, Nanos paused) override;
  void setPace(const Pace& pace) override;
  void prefer(std::span<const ThreadId> threads) override;
  // Every sample is given to `taker`, which must outlive the sampler.
  void deliverSamples(SampleSink& taker) { taker_ = &taker; }
  [[nodiscard]] Nanos pacedCpu() const override { return pacedCpu_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

 private:
  struct Watched {
    WaitReader::Thread task;
    KeptFile sched;
    SliceBuilder slice;
    SchedStat stat{Nanos{}, Nanos{}, -1};  // at the last sample; count -1: none yet
    Seen seen;
    Nanos unchangedSince{}, used{};
    Nanos idleSince{};       // it has been idle, or blocked in one call, since then
    std::size_t place = 0;   // in turns_
    bool confirmed = false;  // its state was checked during this blocking episode
    bool gone = false;
    bool quick = false;        // sampled more often than a thread that rests
    bool older = false;        // than the recording
    bool preferred = false;    // it trains
    std::uint8_t without = 0;  // samples in a row of which the sink had nothing to read
  };
  // Beside the threads, not in them: a pass over 5,000 must not touch 5,000 cache lines.
  struct Turn {
    Nanos due{};
    Watched* thread = nullptr;
  };
  void follow(Nanos now, EventOut& out);
  void drop(ThreadId id, Nanos at, EventOut& out);
  void scanThreads(Nanos now, EventOut& out);
  void sample(Watched& thread, Nanos now, EventOut& out);
  // True: it has not run since the last sample.
  [[nodiscard]] std::optional<SchedStat> readSchedule(Watched& thread);
  bool recheck(Watched& thread, const SchedStat& stat, Nanos now, EventOut& out);
  void confirm(Watched& thread);
  void makeRoom(const Watched& thread, Nanos now);
  [[nodiscard]] std::uint64_t random();
  void planNext(Watched& thread, bool stillBlocked, Nanos now);
  [[nodiscard]] Nanos restOfPool(const Watched& thread);
  void setQuick(Watched& thread, bool quick);
  [[nodiscard]] Nanos shareOfIdle() const;
  void wakeSleepers(Nanos now);
  void boundSlices(Nanos now);
  void eachSecond(Nanos now, EventOut& out);

  std::string root_;
  ProcessTree& tree_;
  SampleSink* taker_ = nullptr;
  Pace pace_;
  Nanos::rep interval_ = 1;  // the pace's period and turns, in units of the one asked for
  std::uint64_t tick_ = 0, skipped_ = 0;
  std::unordered_map<ThreadId, Watched> threads_;
  std::vector<Turn> turns_;  // one for each of threads_
  std::vector<Watched*> preferred_;
  FdBudget fds_;
  WaitReader waits_;
  std::size_t quick_ = 0;                 // threads that are
  bool probed_ = false, faster_ = false;  // faster_: than at the round before
  Nanos second_{}, window_{}, pacedCpu_{}, resumed_{};
  std::uint64_t random_ = 88172645463325252ull;
};

}  // namespace stallprof
