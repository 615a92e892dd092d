// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <vector>

#include "analysis/blame/samples/producer_threads.h"
#include "analysis/blame/samples/read_cpu.h"
#include "analysis/blame/samples/refine.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/observed.h"
#include "analysis/steps/steps.h"
#include "analysis/steps/timeline.h"

namespace stallprof {

// A fetch's wall time by what its producer did. Sums to the fetch.
struct FetchSplit {
  Nanos cpu{};                              // the producing thread's
  Nanos queued{};                           // runnable without a CPU
  Nanos extract{}, transform{}, unknown{};  // blocked, by what in (classify/waits.h)
  Nanos load{};                             // blocked handing over, as its stacks say
  Nanos cpuExtract{}, cpuLoad{};            // of `cpu`, as its stacks say, or rule cpu.read_calls
  Nanos queuedExtract{};  // of `queued`: woken in a read, waiting to go on with it
};

// The producers of one trainer's batches: its workers, or itself where it has none.
class Producers {
 public:
  Producers(const Trace& trace, const TrainerTimeline& timeline, const FetchShares& stacks = {},
            const ProducerThreads& threads = {});

  // What the producer of the awaited batch did during `wait`, a part of the trainer's wait in
  // `fetch`. Sums to it. Before the producer's fetch of that batch, what it did instead; inside the
  // fetch, CPU is transform and blocking is what it was blocked in; after it, load (README.md).
  [[nodiscard]] Blame blame(const EpochSpan& epoch, const Timed<Fetch>& fetch,
                            const Interval& wait) const;

  // Of the producers' CPU, in read calls by rule cpu.read_calls; 0 where stacks show it.
  [[nodiscard]] double readCpu() const { return readCpu_; }

  // The batches of the plan's steps as they were made, where that was seen.
  [[nodiscard]] std::vector<BatchWork> works(const StepPlan& plan) const;
  // The batch that `fetch` delivered, as it was made; false where its making was not seen.
  [[nodiscard]] bool work(const EpochSpan& epoch, const Timed<Fetch>& fetch, BatchWork& out) const;

 private:
  struct Worker {
    ThreadId thread;
    Nanos begun = Nanos::max();                   // entered its loop
    std::vector<const Timed<WorkerTask>*> tasks;  // by time
    std::vector<Interval> making;                 // its fetches, by time
    std::vector<FetchSplit> splits;               // of `tasks`
    Observed seen;                                // over all its fetches
    Interval span{Nanos::max(), {}};              // from the first to the last of them
    Nanos blockedAndQueued{};                     // their wall less their CPU
    // CPU that its feeder, and the trainer's thread that pins, take a batch; max(): not known.
    Nanos sending = Nanos::max();
    // Whether a sample at `t` fell into a fetch: later than its begin, up to its end.
    [[nodiscard]] bool makesAt(Nanos t) const;
  };
  struct Place {
    std::uint64_t key = 0;
    std::int64_t batch = -1;
    std::uint32_t worker = 0, task = 0;
  };

  static bool before(const Place& a, const Place& b);
  void pool(Worker& worker) const;
  [[nodiscard]] Nanos taking(const EpochSpan& epoch, const Place& place, std::int64_t batch) const;
  [[nodiscard]] const Place* find(const EpochSpan& epoch, const Timed<Fetch>& fetch) const;
  [[nodiscard]] FetchSplit split(const Worker& worker, const Interval& fetch, Nanos cpu) const;
  [[nodiscard]] Nanos sendingOf(const Worker& worker) const;
  [[nodiscard]] Nanos pinningOf(const Worker& worker) const;
  void handOver(Blame& blame, const Worker& worker, std::size_t task, Interval handing) const;
  [[nodiscard]] Blame follow(const Place& place, const Interval& wait) const;

  void nameByStacks(FetchSplit& split) const;
  [[nodiscard]] std::vector<Reader> readers() const;

  const Trace& trace_;
  const TrainerTimeline& timeline_;
  FetchShares stacks_;
  ProducerThreads threads_;
  std::map<std::uint32_t, std::int64_t> ahead_;  // loader -> batches that its workers may hold
  std::vector<Worker> workers_;
  Worker self_;     // the trainer as its own producer
  Nanos ownCpu_{};  // of its fetches
  double readCpu_ = 0;
  std::vector<Place> places_;  // by key and batch; of one recorded twice the later last
};

}  // namespace stallprof
