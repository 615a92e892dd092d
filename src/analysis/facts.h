// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/device_facts.h"
#include "analysis/stack_facts.h"
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
    extract += o.extract, transform += o.transform, load += o.load, startup += o.startup,
        unknown += o.unknown, extractCpu += o.extractCpu;
    return *this;
  }
};

// Where a stretch of the trainer thread's time went. Sums to the stretch.
struct Split {
  Nanos compute{}, wait{}, load{}, sync{}, comm{}, periodic{}, other{};
  Nanos hidden{};  // of `compute`: a data wait while a device worked for this trainer
  Nanos copy{};    // of `load`: standing in a copy to a device
  // What the program itself told of: of all, of `compute`, of `other`.
  Nanos told{}, toldCompute{}, toldOther{};
  [[nodiscard]] Nanos total() const {
    return compute + wait + load + sync + comm + periodic + other;
  }
  Split& operator+=(const Split& o) {
    compute += o.compute, wait += o.wait, load += o.load, sync += o.sync, comm += o.comm,
        periodic += o.periodic, other += o.other, hidden += o.hidden, copy += o.copy,
        told += o.told, toldCompute += o.toldCompute, toldOther += o.toldOther;
    return *this;
  }
};

// One step: from the start of its fetch to the start of the following one (the design's
// definition).
struct Step {
  Nanos begin{}, end{};
  Split split;      // sums to end - begin
  Blame blame;      // sums to split.wait
  Nanos cpu{};      // the trainer thread's CPU in the step
  Nanos starved{};  // runnable without a CPU in the step
  std::uint32_t pass = 0;
  std::int64_t batch = -1;
  std::int32_t ready = -1;  // batches that lay ready when the fetch began
  bool boundary = false;    // first of its pass, last before a gap, or holding a periodic span:
                            // kept in the window, set apart for steps.time_ns
  bool updates = true;      // the optimizer stepped in it; false: its gradients accumulate. True
                            // throughout where no optimizer was seen
};

// One batch as its producer made it: a worker, or the trainer itself with no workers.
struct BatchWork {
  std::uint32_t pass = 0;
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
};

// One pass over the loader by the trainer.
struct Pass {
  std::uint32_t pass = 0;
  Nanos begin{}, end{};
  Nanos startup{};  // making the iterator, until the first worker had begun
  std::uint64_t steps = 0;
  Nanos wait{};
  bool evaluation = false;
};

struct WorkerFacts {
  ProcessId process;
  std::int32_t worker = 0;
  std::int64_t firstResident = -1, lastResident = -1, peakPrivate = -1;  // bytes
  Nanos cpu{};                                                           // in the window
  std::int32_t threads = 1;  // most at once, the queue feeder not counted
};

enum class StepSource : std::uint8_t { kNone, kMarks, kNvtx, kHook, kOptimizer, kInferred };

struct TrainerFacts {
  ProcessId process;
  ThreadId thread;
  StepSource source = StepSource::kNone;
  int loader = -1;                   // index in Trace::loaders; -1: no loader
  std::vector<Step> steps;           // all counted steps, warm-up included, by time
  std::size_t warmup = 0;            // the first of the window's steps
  Nanos windowBegin{}, windowEnd{};  // all of the run when there are no steps
  Split split;                       // of the window; sums to it
  Blame blame;                       // of the window's waits
  Nanos cpu{}, starved{};            // of the trainer thread in the window
  Nanos processCpu{};                // of the trainer's process in the window, workers not included
  std::vector<BatchWork> works;      // batches of counted steps, by delivery
  std::vector<Pass> passes;          // training passes, and evaluation ones marked so
  std::vector<WorkerFacts> workers;
  std::uint64_t optimizerSteps = 0;
  double readCpuShare = 0;  // of the producers' CPU, by rule cpu.read_calls; 0 where stacks tell
  StackFacts stacks;        // of the window; empty where no Python stack was seen
  DeviceFacts device;       // of the window; not `seen` where the process used none
  std::vector<ThreadId> threads;  // of the trainer's process that make its data
  bool sureSteps = true;  // false: inferred, and no update of a model was seen in each of many

  [[nodiscard]] Nanos window() const { return windowEnd - windowBegin; }
  // Nothing told of a fetch: what data takes is inside the steps, and only stacks tell it.
  [[nodiscard]] bool withoutFetches() const {
    return source == StepSource::kOptimizer || source == StepSource::kInferred || toldSteps();
  }
  // Steps that the program told of, with no loader that the hook knows.
  [[nodiscard]] bool toldSteps() const {
    return (source == StepSource::kMarks || source == StepSource::kNvtx) && loader < 0;
  }
  [[nodiscard]] std::size_t windowSteps() const { return steps.size() - warmup; }
};

}  // namespace stallprof
