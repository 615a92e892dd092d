// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/device_facts.h"
#include "analysis/facts/stack_facts.h"
#include "base/add_members.h"
#include "base/interval.h"
#include "base/splitmix64.h"
#include "trace/trace.h"

// What `attribution` establishes about one trainer, and what ceilings, model and findings reason
// from. Times are of the trainer's host clock.
namespace stallprof {

// How a data wait was spent by whoever owed the batch. Sums to the wait.
struct Blame {
  Nanos extract{}, transform{}, load{}, startup{}, unknown{};
  Nanos extractCpu{};  // the part of `extract` that was on a CPU, not blocked
  [[nodiscard]] Nanos total() const { return extract + transform + load + startup + unknown; }
  Blame& operator+=(const Blame& o) {
    addMembers<&Blame::extract, &Blame::transform, &Blame::load, &Blame::startup, &Blame::unknown,
               &Blame::extractCpu>(*this, o);
    return *this;
  }
};

// Where an interval of the trainer thread's time went. Sums to its length.
struct Split {
  Nanos compute{}, wait{}, load{}, sync{}, comm{}, periodic{}, other{};
  Nanos hidden{};  // of `compute`: a data wait while a device worked for this trainer
  Nanos copy{};    // of `load`: blocked in a copy to a device
  // What the program annotated itself: of all, of `compute`, of `other`.
  Nanos annotated{}, annotatedCompute{}, annotatedOther{};
  [[nodiscard]] Nanos total() const {
    return compute + wait + load + sync + comm + periodic + other;
  }
  Split& operator+=(const Split& o) {
    addMembers<&Split::compute, &Split::wait, &Split::load, &Split::sync, &Split::comm,
               &Split::periodic, &Split::other, &Split::hidden, &Split::copy, &Split::annotated,
               &Split::annotatedCompute, &Split::annotatedOther>(*this, o);
    return *this;
  }
};

// One step: from the start of its fetch to the start of the following one (the
// definition in analysis/steps/README.md).
struct Step : Interval {
  Split split;      // sums to end - begin
  Blame blame;      // sums to split.wait
  Nanos cpu{};      // the trainer thread's CPU in the step
  Nanos starved{};  // runnable without a CPU in the step
  std::uint32_t epoch = 0;
  std::uint32_t number = 0;  // of all steps, from 0
  std::int64_t batch = -1;
  std::int32_t ready = -1;  // batches that lay ready when the fetch began
  bool boundary = false;    // first of its epoch, last before a gap, or holding a periodic span:
                            // kept in the window, set apart for steps.time_ns
  bool updates = true;      // the optimizer stepped in it; false: its gradients accumulate. True
                            // throughout where no optimizer was seen
};

// One batch as its producer made it: a worker, or the trainer itself with no workers.
struct BatchWork {
  std::uint32_t epoch = 0, step = 0;  // step: the number of the one it was for
  std::int64_t batch = -1;
  std::int32_t worker = -1;
  Nanos begin{}, end{};  // the fetch, wall
  Nanos taking{};        // until `begin` since the batch before, where its index lay ready by then
  Nanos put{};           // from `end` until handed to the queue
  Nanos cpu{};           // demand: process CPU less the queue feeder's; all threads
  Nanos threadCpu{};
  Nanos extract{};  // blocked on file or socket
  Nanos queued{};   // runnable without a CPU
  Nanos blocked{};  // blocked otherwise (sleep, lock, pipe): end - begin less all the above
  std::int64_t bytes = -1;
  ThreadId thread;  // that made it
  Nanos excess{};  // what its slow samples took beyond the median; waits for a CPU or storage apart
};

// A loader that is zipped with the trainer's, in the window: what its batches take to make. One
// that is made again at the same line, as for each epoch, is the same.
struct ZippedLoader {
  int loader = -1;            // index in Trace::loaders, of the first
  int workers = 0;            // of each of its iterators; 0: the trainer's thread makes its batches
  int iterators = 1;          // at a time, at most
  Nanos making{}, extract{};  // with a core to itself until handed over; of it blocked on reading
};

// What workers that make batches wait for locks which no thread of their own process holds, in the
// window (blame/samples/worker_lock.h). Of the time in which two of them or more make batches.
struct WorkerLock {
  Nanos watched{};      // that time
  Nanos making{};       // of it, summed over the workers
  Nanos waited{};       // of `making`, in such waits
  Nanos named{};        // of `waited`, by samples: in a lock of multiprocessing's
  Nanos every{};        // of `watched`: all of them wait
  double byChance = 0;  // seconds: `every`, if none waited for another
  double busy = 0;      // seconds of `watched` in which the lock is held, if they share one
  double samples = 0;   // of the workers, while they make batches

  // They wait for each other: whoever holds the lock is one of them and works, so that all of them
  // hardly ever wait at once, though they would by chance. Where it is held for less than the time
  // between two samples of a worker, these cannot show that.
  [[nodiscard]] bool exclude() const {
    constexpr double kEnough = 10;  // samples a worker: of so many 2.5 are one in 100 by chance
    if (watched <= Nanos{} || making <= Nanos{}) return false;
    const double rounds = samples * seconds(watched) / seconds(making);
    return rounds * byChance / seconds(watched) >= kEnough && 4 * seconds(every) <= byChance;
  }
  // A lock of multiprocessing's is there to be shared.
  [[nodiscard]] bool shared() const {
    return exclude() || (waited > Nanos{} && 2 * named >= waited);
  }
  [[nodiscard]] double held() const { return shared() ? busy : 0; }
};

// A sample that took far longer than the others, at its slowest.
struct SlowSample {
  std::int64_t index = -1;  // in the data set; -1: no integer
  StringId file;
  Nanos duration{};
};

// Slow samples (event/hook_events.h) of counted batches.
struct SlowSampleFacts {
  static constexpr std::size_t kNamed = 20;
  std::uint64_t batches = 0;        // that had any
  Nanos excess{};                   // of all of them beyond the median
  Nanos median{};                   // mean of what it was when those batches were made
  double weighted = 0;              // s^2: sum over batches of excess x the slowest's time
  std::vector<SlowSample> slowest;  // one of a batch, slowest first, at most kNamed

  // What a slow sample takes, each weighed by its excess: stalls that are just slow do not count
  // like those that matter.
  [[nodiscard]] double typical() const { return excess > Nanos{} ? weighted / seconds(excess) : 0; }
  void add(const SlowSample& sample);
  void add(const SlowSampleFacts& part);
};

// One epoch over the loader by the trainer.
struct Epoch {
  std::uint32_t epoch = 0, loader = 0;
  Nanos begin{}, end{};
  Nanos stopped{};  // between them
  // Of an evaluation: its batches, and the trainer's time in which workers are started for it and
  // ended, and its first batch is awaited; 0 where no worker is.
  std::uint64_t batches = 0;
  Nanos starting{};
  std::uint64_t steps = 0;
  Nanos wait{};
  bool evaluation = false;
  bool whole = false;  // it went through all of its batches
};

// Of a run too long to be held step by step (facts_accumulator.h): the sums of the window's steps,
// and of their batches, that `TrainerFacts::steps` and `works` do not hold. All zero for a shorter
// run.
struct StepsJoined {
  std::size_t steps = 0, works = 0;
  Split split;
  Blame blame;
  // Of those that are no boundary.
  std::size_t plain = 0;
  Split plainSplit;
  Blame plainBlame;
  Nanos plainTime{};
  Nanos behindReady{};          // waited, start-up aside, with batches ready
  Nanos making{}, makingCpu{};  // of batches: until handed over; workers' CPU
  // When every row of the trace that steps are derived from is there still: the first steps, then
  // some special ones, then the last steps. Empty: always.
  std::vector<Interval> detailed;
  static constexpr std::uint32_t kBlock = 64;  // steps that follow each other, for who groups them
  std::uint64_t every = 1;                     // block is held, chosen at random; a power of two

  // Chosen at random, and not held for what it is: of these are quantiles and models.
  [[nodiscard]] bool drawn(std::uint32_t number) const {
    return splitmix64(number / kBlock) % every == 0;
  }
  void add(const Step& step);
  void add(const BatchWork& work);
};

struct WorkerFacts {
  ProcessId process;
  std::int32_t worker = 0;
  std::int64_t lastResident = -1, peakPrivate = -1;  // bytes
  // Of its private memory, as long as it lived, after its first allocations (memory_growth.h).
  double growthPerSecond = 0;
  std::int32_t threads = 1;  // most at once, the queue feeder not counted
};

enum class StepSource : std::uint8_t { kNone, kMarks, kNvtx, kHook, kOptimizer, kInferred };

// Of a run without an interpreter and without steps (whole_run/native_run.h): shares of the window.
struct NativeFacts {
  bool seen = false;
  double opening = 0, reading = 0;  // finding, opening and closing files; reading them
  double named = 0;                 // data or compute by its functions' names or loops alone
  bool passes = false;              // its steps were seen to go forward and back
};

struct TrainerFacts {
  ProcessId process;
  ThreadId thread;
  StepSource source = StepSource::kNone;
  int loader = -1;                   // index in Trace::loaders; -1: no loader
  std::vector<Step> steps;           // counted steps, warm-up included, by time: all of them, but
                                     // for those `joined`
  std::size_t warmup = 0;            // the first of the window's steps
  Nanos windowBegin{}, windowEnd{};  // all of the run when there are no steps
  Nanos stopped{};                   // between them, and no part of the window
  Split split;                       // of the window; sums to it
  Blame blame;                       // of the window's waits
  Nanos cpu{}, starved{};            // of the trainer thread in the window
  Nanos processCpu{};                // of the trainer's process in the window, workers not included
  double growthPerSecond = 0;        // bytes, of its process's private memory (memory_growth.h)
  std::vector<BatchWork> works;      // batches of counted steps, by delivery
  std::map<std::uint32_t, std::uint64_t> batches;  // of each loader, counted ones of the window
  std::vector<ZippedLoader> zipped;
  SlowSampleFacts slowSamples;
  WorkerLock workerLock;
  std::vector<Epoch> epochs;  // training epochs, and evaluation ones marked so
  Intervals evaluations;      // by what the program called or announced (isEvaluation)
  std::vector<WorkerFacts> workers;
  std::uint64_t optimizerSteps = 0;
  double readCpuShare = 0;  // of the producers' CPU, by rule cpu.read_calls; 0 where stacks show it
  StackFacts stacks;        // of the window; empty where no Python stack was seen
  DeviceFacts device;       // of the window; not `seen` where the process used none
  NativeFacts native;       // not `seen` where steps or an interpreter were
  std::vector<ThreadId> threads;  // of the trainer's process that make its data
  StepsJoined joined;
  StackId loopAt;  // without steps: a frame of the loop that the window is of; none: of no loop
  bool sureSteps = true;  // false: inferred, and no update of a model was seen in each of many

  [[nodiscard]] Nanos window() const { return windowEnd - windowBegin - stopped; }
  [[nodiscard]] Interval windowInterval() const { return {windowBegin, windowEnd}; }
  // No fetch is recorded: what data takes is inside the steps, and only stacks show it.
  [[nodiscard]] bool withoutFetches() const {
    return source == StepSource::kNone || source == StepSource::kOptimizer ||
           source == StepSource::kInferred || annotatedSteps();
  }
  // Steps that the program annotated, with no loader that the hook knows.
  [[nodiscard]] bool annotatedSteps() const {
    return (source == StepSource::kMarks || source == StepSource::kNvtx) && loader < 0;
  }
  [[nodiscard]] std::size_t stepCount() const { return steps.size() + joined.steps; }
  [[nodiscard]] std::size_t windowSteps() const { return stepCount() - warmup; }
  // The rows of the trace that step `i` of `steps` is derived from are there still.
  [[nodiscard]] bool detailed(std::size_t i) const {
    const auto holds = [&](const Interval& kept) { return kept.contains(steps[i]); };
    return joined.detailed.empty() ||
           std::any_of(joined.detailed.begin(), joined.detailed.end(), holds);
  }
  // The part of the window that any row of the trace which steps are derived from speaks of: of a
  // run of several parts its first and last steps, not those that are held for being slow.
  [[nodiscard]] Intervals rowsKnown() const {
    if (joined.detailed.empty()) return {windowInterval()};
    Intervals known;
    for (const Interval& ends : {joined.detailed.front(), joined.detailed.back()})
      if (const Interval inside = intersect(ends, windowInterval()); inside.begin < inside.end)
        known.push_back(inside);
    return stallprof::joined(std::move(known));
  }
  // Of steps by their length the one in the middle; where some are joined, of the first and the
  // last ones the nearest to it.
  [[nodiscard]] std::size_t typicalOf(const std::vector<std::size_t>& byLength) const {
    const auto eligible = [&](std::size_t i) {
      return joined.detailed.empty() || joined.detailed.front().contains(steps[i]) ||
             joined.detailed.back().contains(steps[i]);
    };
    const std::size_t middle = byLength.size() / 2;
    for (std::size_t apart = 0; apart <= middle; ++apart)
      for (const std::size_t at : {middle - apart, middle + apart})
        if (at < byLength.size() && eligible(byLength[at])) return byLength[at];
    return byLength[middle];
  }
  // Of these steps the slowest, at most `count`, slowest first.
  [[nodiscard]] std::vector<std::size_t> slowest(std::vector<std::size_t> of,
                                                 std::size_t count) const {
    const auto end = of.begin() + static_cast<std::ptrdiff_t>(std::min(of.size(), count));
    std::partial_sort(of.begin(), end, of.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(steps[b].length(), a) < std::pair(steps[a].length(), b);
    });
    of.erase(end, of.end());
    return of;
  }
  // Step `i` of `steps` follows the one before it there, with none joined between.
  [[nodiscard]] bool follows(std::size_t i) const {
    return i > 0 && steps[i].number == steps[i - 1].number + 1;
  }
};

}  // namespace stallprof
