// SPDX-License-Identifier: MIT
#pragma once

#include "event/event_struct.h"

// Events that the hook reports from inside the job. The rules of all events are in event.h.
namespace stallprof {

struct FrameworkSeen {
  ProcessId process;
  StringId name, version;
  std::int32_t rank = -1;  // of the process among those that train together; -1: not known. Said in
                           // an event of its own, when the process first updates its model
  STALLPROF_EVENT(FRAMEWORK_SEEN, "framework", v("process", s.process), v("name", s.name),
                  v("version", s.version), v("rank", s.rank))
};

// Kinds of loaders that PyTorch's own constructor made, and torchdata's of its classes.
inline constexpr std::string_view kTorchLoader = "torch.DataLoader";
inline constexpr std::string_view kStatefulLoader = "torch.StatefulDataLoader";

// A loader was made. `loader` counts from 1 within its process.
struct LoaderSeen {
  ProcessId process;
  std::uint32_t loader = 0;
  // One of the above, "torch.fastai" of torch's iterators over fastai's loader, "tf.data", ...
  StringId kind;
  StringId batching, startMethod, dataset;  // auto|batch_sampler|none; fork|spawn|forkserver; the
                                            // dataset's class
  std::int32_t workers = 0, prefetch = -1;
  std::int64_t batchSize = -1, length = -1;  // samples a batch; batches an epoch (-1: not known)
  bool pinMemory = false, persistent = false, inOrder = true, iterable = false;
  StringId file;  // the line that made the loader: first frame outside torch and the hook
  std::uint32_t line = 0;
  StringId package;  // installed; that line called it, and it made the loader; "": torch itself
  STALLPROF_EVENT(LOADER_SEEN, "loader", v("process", s.process), v("loader", s.loader),
                  v("kind", s.kind), v("batching", s.batching), v("start_method", s.startMethod),
                  v("dataset", s.dataset), v("workers", s.workers), v("prefetch", s.prefetch),
                  v("batch_size", s.batchSize), v("length", s.length), v("pin_memory", s.pinMemory),
                  v("persistent", s.persistent), v("in_order", s.inOrder),
                  v("iterable", s.iterable), v("file", s.file), v("line", s.line),
                  v("library", s.package))
};

// A setting of the job was changed from outside (`run --set`), before it took effect; or, where
// `from` and `to` are equal, the program was seen to make it.
struct SettingChanged {
  static constexpr std::string_view kThreads = "torch.set_num_threads";
  ProcessId process;
  StringId name;      // an argument of the loader, or kThreads
  StringId from, to;  // its values as Python writes them
  StringId file;      // the line that makes the loader, or the call
  std::uint32_t line = 0;
  STALLPROF_EVENT(SETTING_CHANGED, "setting", v("process", s.process), v("name", s.name),
                  v("from", s.from), v("to", s.to), v("file", s.file), v("line", s.line))
};

// iter(loader): an epoch begins. `at` + `duration` covers the making of the iterator: where workers
// are started. `epoch` counts from 1 within the process; `key` is equal in its workers.
// With persistent workers (`reused`) each epoch has a key of its own, and its workers say
// WorkerBegin again with that key: (key, batch) names one WorkerTask and one Fetch of the process.
struct IteratorBegin {
  ThreadId thread;
  std::uint32_t loader = 0, epoch = 0;
  std::uint64_t key = 0;
  Nanos duration{}, cpu{};
  bool reused = false;  // persistent workers: nothing was started
  STALLPROF_EVENT(ITERATOR_BEGIN, "iterator", v("thread", s.thread), v("loader", s.loader),
                  v("epoch", s.epoch), v("key", s.key), v("duration", s.duration), v("cpu", s.cpu),
                  v("reused", s.reused))
};

// One next() of a loader's iterator, on the thread that called it.
struct Fetch {
  ThreadId thread;
  std::uint32_t loader = 0, epoch = 0;
  Nanos duration{}, cpu{};   // cpu: of this thread, in the call; fetch_clock.h estimates it
  std::int64_t batch = -1;   // the loader's own index of the batch that was delivered
  std::int32_t worker = -1;  // who made it; -1 with no workers
  std::int32_t ready = -1;   // batches that had already arrived when the call began
  bool end = false;          // StopIteration or an exception: no batch
  Nanos processCpu{-1};      // all threads of the process inside the call; with W = 0, as `cpu`
  std::int64_t bytes = -1;   // of the batch's tensors, with W = 0 (else the task's); -1: not read
  STALLPROF_EVENT(FETCH, "fetch", v("thread", s.thread), v("loader", s.loader), v("epoch", s.epoch),
                  v("duration", s.duration), v("cpu", s.cpu), v("batch", s.batch),
                  v("worker", s.worker), v("ready", s.ready), v("end", s.end),
                  v("process_cpu", s.processCpu), v("bytes", s.bytes))
};

// A worker process entered its loop.
struct WorkerBegin {
  ThreadId thread;
  std::uint64_t key = 0;
  std::int32_t worker = 0, workers = 0;
  STALLPROF_EVENT(WORKER_BEGIN, "worker", v("thread", s.thread), v("key", s.key),
                  v("worker", s.worker), v("workers", s.workers))
};

// One batch of a worker, written when it has been handed to the queue's feeder. `at` is when the
// worker began to wait for an index; the offsets are from `at` and never decrease.
struct WorkerTask {
  ThreadId thread;
  std::uint64_t key = 0;
  std::int32_t worker = 0;
  std::int64_t batch = -1;
  Nanos fetchBegin{}, fetchEnd{},
      putEnd{};               // offsets: index in hand; batch made; batch handed over
  Nanos cpu{}, processCpu{};  // fetchBegin..fetchEnd: this thread's; all threads'. Where bytes were
                              // not read: by the share of fetches around it (src/hook/tasks.c)
  std::int64_t bytes = -1;    // of the batch's tensors; -1: not read
  std::int64_t majorFaults = -1, blockReads = -1;  // of this thread in the fetch (getrusage)
  STALLPROF_EVENT(WORKER_TASK, "task", v("thread", s.thread), v("key", s.key),
                  v("worker", s.worker), v("batch", s.batch), v("fetch_begin", s.fetchBegin),
                  v("fetch_end", s.fetchEnd), v("put_end", s.putEnd), v("cpu", s.cpu),
                  v("process_cpu", s.processCpu), v("bytes", s.bytes), v("majflt", s.majorFaults),
                  v("inblock", s.blockReads))
};

// Samples of one batch that took over 5 times the median of those before, and at least 1 ms; `at`
// and `duration` are the slowest's. Of map-style data sets that make them one by one.
struct SlowSamples {
  ThreadId thread;
  Nanos duration{};
  std::int64_t index = -1;  // in the data set, as the sampler gave it; -1: no integer
  StringId
      file;  // that a list of the data set has at the index, or the index itself; none: neither
  std::int32_t samples = 0, slow = 0;  // of the batch
  Nanos median{}, excess{};            // excess: of all slow ones together, beyond the median
  STALLPROF_EVENT(SLOW_SAMPLES, "slow_samples", v("thread", s.thread), v("duration", s.duration),
                  v("index", s.index), v("file", s.file), v("samples", s.samples),
                  v("slow", s.slow), v("median", s.median), v("excess", s.excess))
};

// Turns of a loop of the program's own, exact, each to the begin of the next: `turns` within
// [at, at + duration). Where the loop was left and entered again the time between is in a turn.
struct LoopTurns {
  ThreadId thread;
  Nanos duration{};
  std::uint32_t turns = 1;
  std::uint32_t line = 0, last = 0;  // of the loop: its first and its last
  StringId file;
  STALLPROF_EVENT(LOOP_TURNS, "turns", v("thread", s.thread), v("duration", s.duration),
                  v("turns", s.turns), v("line", s.line), v("last", s.last), v("file", s.file))
};

struct OptimizerStep {
  ThreadId thread;
  Nanos duration{};
  std::uint32_t optimizer = 0;  // counts from 1 within the process
  std::uint32_t steps = 1;      // that this call was: more where a program puts several into one
  STALLPROF_EVENT(OPTIMIZER_STEP, "optimizer", v("thread", s.thread), v("duration", s.duration),
                  v("optimizer", s.optimizer), v("steps", s.steps))
};

// Where an optimizer's steps are called from, a frame each: of steps that have no frame of their
// own, as calls of JAX's compiled functions. Reported when that changes, before the step: of lines
// that a warm-up called once none comes back. Where calls are not seen (before CPython 3.12), when
// a gradient is compiled, each place with a number of its own.
struct StepPlace {
  ThreadId thread;
  std::uint32_t optimizer = 0;  // as OptimizerStep::optimizer
  std::uint32_t line = 0;       // being executed in the frame
  StringId function, file;      // as a stack has them
  STALLPROF_EVENT(STEP_PLACE, "step_place", v("thread", s.thread), v("optimizer", s.optimizer),
                  v("line", s.line), v("function", s.function), v("file", s.file))
};

// An interval of a thread whose phase is known exactly: torch.save (periodic), a user's mark.
struct PhaseSpan {
  ThreadId thread;
  Nanos duration{};
  Phase phase = Phase::kUnknown;
  SpanSource source = SpanSource::kHook;
  StringId name;  // "torch.save", or the user's own word
  StringId file;  // the user's line, where known
  std::uint32_t line = 0;
  STALLPROF_EVENT(PHASE_SPAN, "span", v("thread", s.thread), v("duration", s.duration),
                  v("phase", s.phase), v("source", s.source), v("name", s.name), v("file", s.file),
                  v("line", s.line))
};

}  // namespace stallprof
