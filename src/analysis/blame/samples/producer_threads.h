// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/stack_facts.h"
#include "analysis/facts/stack_samples.h"
#include "analysis/steps/timeline.h"
#include "base/interval.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

[[nodiscard]] bool runsTensorFlow(const Trace& trace, ProcessId process);

// When a graph of a process got the next element of a tf.data iterator, by samples of its threads'
// native stacks (sampler/perf/get_next_watch.h): Keras' fit() does so inside its compiled step,
// where no Python call lasts as long. For sums of many samples; each counts for the time around it.
class GetNexts {
 public:
  GetNexts() = default;
  GetNexts(const Trace& trace, ProcessId process);

  [[nodiscard]] bool at(Nanos t) const;
  // The process runs TensorFlow, and its threads' stacks could not be sampled: what it does while
  // it waits for a graph is not known.
  [[nodiscard]] bool blind() const { return blind_; }
  // A wait while a device works for the process is hidden by that work, and none.
  void leaveOut(const Intervals& busy);

 private:
  Intervals underWay_, hidden_;
  bool blind_ = false;
};

// Threads that make a trainer's data and are no workers of a loader that it reads: a prefetch
// thread, a pool, the threads of a loader that is native code, in the trainer's own process; and
// those of processes that it started itself, workers of a loader that another thread reads too.
//
// They are those that work while the trainer's thread stands waiting for them: in
// a fetch from a loader of that kind (madeByThreads), by its stack in a queue's get or a future's
// result (rule key `handover`; running there, too, as a woken thread does), or blocked while its
// graph gets its next batch (GetNexts); an event loop of the program's own, too, which waits for
// the network meanwhile and works now and then; where it never waits so, asleep at a line of the
// user's own (polls), if they work nearly all of that time. Where it never waits, because they are
// ahead of it, those that wait for room in a queue themselves. One that mostly computes by known
// rules, as a forest's threads do, is none, nor one of a native pool that mostly spins. What lives
// for an epoch is judged by the waits of that time.
struct ProducerThreads {
  std::vector<ThreadId> threads;
  // Of their CPU time, by their stacks; without enough samples all of it is transform.
  double cpuExtract = 0, cpuLoad = 0;
  // Of the time that they are blocked for what their waits do not say: in an event loop of theirs,
  // which waits for the network (kAwaitsNetwork).
  double awaitsNetwork = 0;

  bool polled = false;  // known by the trainer's sleeping

  // Others that worked while the trainer waited, and are none of these: they compute.
  bool computing = false;
  // Of those, the pool that XLA's compiled functions run on: a call of one returns before it is
  // computed, so the trainer may ask for a batch meanwhile, and loses nothing by waiting for it.
  std::vector<ThreadId> compiled;
  // One of them worked for more than half of this wait of the trainer's.
  [[nodiscard]] bool computedMeanwhile(const Trace& trace, const Interval& wait) const;

  GetNexts getNexts;  // of the trainer's process

  // The trainer's thread, blocked at this sample outside of a fetch, waits for a graph that waits
  // for its next batch.
  [[nodiscard]] bool graphWaits(const StackLabel& label, Wait wait, Nanos at) const;
  // It waits for a graph of which nothing is known.
  [[nodiscard]] bool graphHidden(const StackLabel& label, Wait wait) const;
  // The trainer waits at this sample for them; `anyone`: or, at a queue, for whoever fills it, who
  // may not be seen (another program, threads of a library).
  [[nodiscard]] bool awaited(const StackLabel& label, const Sample& sample,
                             const TrainerTimeline& timeline, bool anyone) const;
  // What a wait for them was, by what most of their time was meanwhile.
  [[nodiscard]] Phase madeMeanwhile(const Trace& trace, const Interval& wait) const;
  [[nodiscard]] bool found() const { return !threads.empty(); }
  [[nodiscard]] bool has(ThreadId id) const;

  // What a wait for them was for, by what they did meanwhile. Sums to it: work and
  // blocking of theirs count at most the wait's length, in proportion; while none of them did
  // anything a batch was handed over, or what they waited for is not known.
  struct Doing {
    Nanos extract{}, transform{}, load{}, unknown{};
    Nanos extractCpu{};  // the part of `extract` on a CPU
  };
  [[nodiscard]] Doing in(const Trace& trace, const Interval& wait) const;
};

// Of the samples and fetches in [begin, end). Pure.
[[nodiscard]] ProducerThreads findProducerThreads(const Trace& trace, const StackLabels& labels,
                                                  const TrainerTimeline& timeline, Nanos begin,
                                                  Nanos end);

// The trainer sleeps until something is there, as far as a thread works meanwhile.
[[nodiscard]] bool polls(const StackLabel& label, Wait wait, const TrainerTimeline& timeline);

// Nothing in the trainer's thread is known to step.
[[nodiscard]] bool isStepless(const TrainerTimeline& timeline);

}  // namespace stallprof
