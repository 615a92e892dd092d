// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/facts.h"
#include "analysis/read_cpu.h"
#include "analysis/stacks.h"
#include "analysis/timeline.h"

namespace stallprof {

// What a thread's slices saw in a stretch. Sums of many slices are exact in run and queued;
// `extract`, `transform` and `unknown` weigh what the looks found it blocked in: a look is an
// instant, so it counts where it fell, and stands for the time between two looks.
struct Observed {
  Nanos run{}, queued{};
  Nanos extract{}, transform{}, unknown{};
  std::uint32_t blockedLooks = 0;
  Observed& operator+=(const Observed& o);
};
[[nodiscard]] Observed observe(const ThreadLife& thread, Nanos begin, Nanos end);

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
  Producers(const Trace& trace, const TrainerTimeline& line, const FetchShares& stacks = {},
            const ProducerThreads& threads = {});

  // Whose fault it is that the trainer waited in [begin, end), a part of `fetch`. Sums to it.
  // The design's rule, "Blame of a data wait": before the owed batch's fetch, what its worker did
  // instead; inside it, CPU is transform and blocking is what it was blocked in; after it, load.
  [[nodiscard]] Blame blame(const PassSpan& pass, const Timed<Fetch>& fetch, Nanos begin,
                            Nanos end) const;

  // Of the producers' CPU, in read calls by rule cpu.read_calls; 0 where stacks tell.
  [[nodiscard]] double readCpu() const { return readCpu_; }

  // The batch that `fetch` delivered, as it was made; false where its making was not seen.
  [[nodiscard]] bool work(const PassSpan& pass, const Timed<Fetch>& fetch, BatchWork& out) const;

 private:
  struct Stretch {
    Nanos begin{}, end{};
  };
  struct Worker {
    ThreadId thread;
    Nanos begun = Nanos::max();                   // entered its loop
    std::vector<const Timed<WorkerTask>*> tasks;  // by time
    std::vector<Stretch> making;                  // its fetches, by time
    Observed seen;                                // over all its fetches
    Nanos first = Nanos::max(), last{};           // begin and end of them all
    Nanos blockedAndQueued{};                     // their wall less their CPU
    // Whether a look at `t` fell into a fetch: later than its begin, up to its end.
    [[nodiscard]] bool makesAt(Nanos t) const;
  };
  struct Place {
    std::uint64_t key = 0;
    std::int64_t batch = -1;
    std::uint32_t worker = 0, task = 0;
  };

  static bool before(const Place& a, const Place& b);
  void pool(Worker& worker) const;
  [[nodiscard]] Nanos taking(const PassSpan& pass, const Place& place, std::int64_t batch) const;
  [[nodiscard]] const Place* find(const PassSpan& pass, const Timed<Fetch>& fetch) const;
  [[nodiscard]] FetchSplit split(const Worker& worker, Nanos begin, Nanos end, Nanos cpu) const;
  [[nodiscard]] FetchSplit split(const Worker& worker, const Timed<WorkerTask>& task) const;
  [[nodiscard]] Blame follow(const Place& place, Nanos begin, Nanos end) const;

  void nameByStacks(FetchSplit& split) const;
  [[nodiscard]] std::vector<Reader> readers() const;

  const Trace& trace_;
  const TrainerTimeline& line_;
  FetchShares stacks_;
  ProducerThreads threads_;
  std::map<std::uint32_t, std::int64_t> ahead_;  // loader -> batches that its workers may hold
  std::vector<Worker> workers_;
  Worker self_;  // the trainer as its own producer
  double readCpu_ = 0;
  std::vector<Place> places_;  // by key and batch; of one told of twice the later last
};

}  // namespace stallprof
