// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "event/kinds.h"
#include "event/vocabulary.h"

// THE list of what can be recorded: one struct a kind, and `Event` at the end.
//
// Each struct names its fields once, in `fields(self, visit)`: encode, decode, the text form and
// the event memory are all that one list, visited. Rules:
//  - the order in `fields` is on disk: append only, never reorder (a shorter record from an older
//    version leaves the tail at its defaults);
//  - field types: integers, bool, Nanos, the enums of vocabulary.h, and ids;
//  - counters are cumulative since the process, device or host began; -1 means "not known".
namespace stallprof {

// ---- identities -------------------------------------------------------------------------------

// A process of the job. Repeated at the start of each segment and when the image changes (exec).
struct ProcessSeen {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_PROCESS_SEEN;
  static constexpr const char* kName = "process";
  ProcessId process, parent;     // parent: none when outside the job
  std::uint32_t pid = 0;         // in the recorder's pid namespace
  std::uint64_t startTicks = 0;  // /proc/PID/stat field 22: with the pid, one life
  StringId comm, command, exe;   // command: argv joined as shell words, secrets masked
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("process", s.process), v("parent", s.parent), v("pid", s.pid), v("start", s.startTicks),
        v("comm", s.comm), v("command", s.command), v("exe", s.exe);
  }
};

struct ProcessGone {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_PROCESS_GONE;
  static constexpr const char* kName = "process_gone";
  ProcessId process;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("process", s.process);
  }
};

struct ThreadSeen {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_THREAD_SEEN;
  static constexpr const char* kName = "thread";
  ThreadId thread;
  ProcessId process;
  std::uint32_t tid = 0;  // equals the process's pid for its main thread
  StringId name;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("process", s.process), v("tid", s.tid), v("name", s.name);
  }
};

struct ThreadGone {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_THREAD_GONE;
  static constexpr const char* kName = "thread_gone";
  ThreadId thread;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread);
  }
};

// A frame with all its callers: one node of the tree of all stacks seen, whatever thread had them.
// Two nodes differ in caller, function, file, line, kind or first line. A caller's id is smaller
// than its callee's. Repeated before its first use in each segment, callers first.
struct StackSeen {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_STACK_SEEN;
  static constexpr const char* kName = "stack";
  StackId stack, caller;   // caller: none for the outermost frame
  StringId function;       // co_qualname from CPython 3.11, else co_name; or what kOther remarks
  StringId file;           // as the code object names it
  std::uint32_t line = 0;  // being executed, or the call to the next frame; 0: not known
  FrameKind kind = FrameKind::kPython;
  std::uint32_t firstLine = 0;  // of the function; 0: not known
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("stack", s.stack), v("caller", s.caller), v("function", s.function), v("file", s.file),
        v("line", s.line), v("kind", s.kind), v("first_line", s.firstLine);
  }
};

// ---- sampled from outside -----------------------------------------------------------------------

// A thread over one look, or several looks that saw the same (merged, at most 1 s; a sleeper among
// thousands up to 10 s). `at` is the begin: the look before the first of these. A look is an
// instant, and `wait` and `what` are what it saw: `looks` of them, evenly spaced, the last at the
// slice's end (0: none, the thread ended). run + queued are schedstat deltas over the whole slice,
// exact over a second and more; what is left of `duration` was spent blocked. Only a share of many
// looks tells in what: a slice with kRunning may hold blocked time, of the time before its look.
struct ThreadSlice {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_THREAD_SLICE;
  static constexpr const char* kName = "slice";
  ThreadId thread;
  Nanos duration{}, run{}, queued{};
  Wait wait = Wait::kUnknown;
  StringId what;  // file path, futex or syscall name, wchan; none when not looked up
  std::uint32_t looks = 1;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("duration", s.duration), v("run", s.run), v("queued", s.queued),
        v("wait", s.wait), v("what", s.what), v("looks", s.looks);
  }
};

// Once a second for a process; all counters cumulative.
struct ProcessUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_PROCESS_USAGE;
  static constexpr const char* kName = "usage";
  ProcessId process;
  Nanos cpu{-1};               // the kernel's process clock: exact, all threads, dead ones too
  Nanos user{-1}, system{-1};  // stat's utime and stime, scaled by ticks
  std::int64_t readChars = -1, writeChars = -1, readCalls = -1, writeCalls = -1;  // /proc/PID/io
  std::int64_t readBytes = -1, writeBytes = -1;                                   // from storage
  std::int64_t minorFaults = -1, majorFaults = -1;
  std::int64_t residentBytes = -1, sharedBytes = -1;  // statm: RSS and its file+shmem part
  std::int32_t threads = -1;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("process", s.process), v("cpu", s.cpu), v("user", s.user), v("system", s.system),
        v("rchar", s.readChars), v("wchar", s.writeChars), v("syscr", s.readCalls),
        v("syscw", s.writeCalls), v("read_bytes", s.readBytes), v("write_bytes", s.writeBytes),
        v("minflt", s.minorFaults), v("majflt", s.majorFaults), v("rss", s.residentBytes),
        v("shared", s.sharedBytes), v("threads", s.threads);
  }
};

// Once a second for the host. CPU times are of all CPUs together.
struct HostUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_HOST_USAGE;
  static constexpr const char* kName = "host";
  Nanos busy{-1}, idle{-1}, ioWait{-1}, steal{-1};
  Nanos jobCpu{-1};  // CPU of all processes of the job so far, dead ones included
  std::int64_t memoryTotal = -1, memoryAvailable = -1, pageCache = -1, dirty = -1;  // bytes
  std::int64_t swapInPages = -1, swapOutPages = -1;
  std::int64_t shmUsed = -1, shmTotal = -1;                                   // /dev/shm, bytes
  Nanos cpuSome{-1}, ioSome{-1}, ioFull{-1}, memorySome{-1}, memoryFull{-1};  // PSI totals
  std::int64_t reclaimScans = -1;  // vmstat pgscan_direct
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("busy", s.busy), v("idle", s.idle), v("iowait", s.ioWait), v("steal", s.steal),
        v("job_cpu", s.jobCpu), v("mem_total", s.memoryTotal),
        v("mem_available", s.memoryAvailable), v("page_cache", s.pageCache), v("dirty", s.dirty),
        v("swap_in", s.swapInPages), v("swap_out", s.swapOutPages), v("shm_used", s.shmUsed),
        v("shm_total", s.shmTotal), v("psi_cpu", s.cpuSome), v("psi_io", s.ioSome),
        v("psi_io_full", s.ioFull), v("psi_memory", s.memorySome),
        v("psi_memory_full", s.memoryFull), v("direct_scans", s.reclaimScans);
  }
};

struct DiskUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_DISK_USAGE;
  static constexpr const char* kName = "disk";
  StringId device;
  std::int64_t reads = 0, readBytes = 0, writes = 0, writeBytes = 0;
  Nanos readTime{}, writeTime{}, busy{};  // diskstats: summed request times, and time with any
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("device", s.device), v("reads", s.reads), v("read_bytes", s.readBytes), v("writes", s.writes),
        v("write_bytes", s.writeBytes), v("read_time", s.readTime), v("write_time", s.writeTime),
        v("busy", s.busy);
  }
};

struct NetworkUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_NETWORK_USAGE;
  static constexpr const char* kName = "network";
  StringId interface;
  std::int64_t receivedBytes = 0, sentBytes = 0;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("interface", s.interface), v("rx", s.receivedBytes), v("tx", s.sentBytes);
  }
};

// The control group of the command, v1 or v2; -1 where a controller is not there or has no limit.
struct CgroupUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_CGROUP_USAGE;
  static constexpr const char* kName = "cgroup";
  std::int32_t version = 0;
  std::int64_t cpuQuotaMilli = -1;  // thousandths of a CPU; tightest along the path to the root
  std::int64_t periods = -1, throttledPeriods = -1;
  Nanos throttled{-1};
  std::int64_t memoryBytes = -1, memoryLimit = -1, memoryFile = -1, oomKills = -1;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("version", s.version), v("cpu_milli", s.cpuQuotaMilli), v("periods", s.periods),
        v("throttled_periods", s.throttledPeriods), v("throttled", s.throttled),
        v("memory", s.memoryBytes), v("memory_limit", s.memoryLimit), v("file", s.memoryFile),
        v("oom_kills", s.oomKills);
  }
};

// A file a process of the job was seen to wait for or hold open; at most once a second per file.
struct FileSeen {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_FILE_SEEN;
  static constexpr const char* kName = "file";
  ProcessId process;
  StringId path, mount, fsType, source;  // mount point, its type (ext4, nfs4, fuse.x), its device
  std::int64_t size = -1, offset = -1;   // bytes; offset at the last look
  std::uint32_t waits = 0;               // looks that found a thread blocked in it, since the last
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("process", s.process), v("path", s.path), v("mount", s.mount), v("type", s.fsType),
        v("source", s.source), v("size", s.size), v("offset", s.offset), v("waits", s.waits);
  }
};

// Calls of one system call by the whole job, cumulative; only where the host lets us count.
struct SyscallCount {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_SYSCALL_COUNT;
  static constexpr const char* kName = "syscalls";
  StringId name;
  std::int64_t count = 0;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("name", s.name), v("count", s.count);
  }
};

// What looks at a thread's stack saw: `looks` of them in a row that saw the same, evenly spaced,
// the first at `at`, the last `duration` later (0 for one look). At most a second is merged, of a
// thread long asleep ten. Only threads that have Python frames have them; where two slices of a
// thread leave more than a look's period between them, its stack was not seen.
struct StackSlice {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_STACK_SLICE;
  static constexpr const char* kName = "stack_slice";
  ThreadId thread;
  Nanos duration{};
  StackId stack;  // the innermost frame; none: the thread was in no Python frame
  std::uint32_t looks = 1;
  Gil gil = Gil::kUnknown;
  bool gc = false;  // its interpreter's collector was running, in this thread
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("duration", s.duration), v("stack", s.stack), v("looks", s.looks),
        v("gil", s.gil), v("gc", s.gc);
  }
};

// ---- reported by the hook -----------------------------------------------------------------------

struct FrameworkSeen {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_FRAMEWORK_SEEN;
  static constexpr const char* kName = "framework";
  ProcessId process;
  StringId name, version;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("process", s.process), v("name", s.name), v("version", s.version);
  }
};

// A loader was made. `loader` counts from 1 within its process.
struct LoaderSeen {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_LOADER_SEEN;
  static constexpr const char* kName = "loader";
  ProcessId process;
  std::uint32_t loader = 0;
  StringId kind, batching, startMethod, dataset;  // "torch.DataLoader"; auto|batch_sampler|none;
                                                  // fork|spawn|forkserver; the dataset's class
  std::int32_t workers = 0, prefetch = -1;
  std::int64_t batchSize = -1, length = -1;  // samples a batch; batches an epoch (-1: not known)
  bool pinMemory = false, persistent = false, inOrder = true, iterable = false;
  StringId file;  // the line that made the loader: first frame outside torch and the hook
  std::uint32_t line = 0;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("process", s.process), v("loader", s.loader), v("kind", s.kind), v("batching", s.batching),
        v("start_method", s.startMethod), v("dataset", s.dataset), v("workers", s.workers),
        v("prefetch", s.prefetch), v("batch_size", s.batchSize), v("length", s.length),
        v("pin_memory", s.pinMemory), v("persistent", s.persistent), v("in_order", s.inOrder),
        v("iterable", s.iterable), v("file", s.file), v("line", s.line);
  }
};

// iter(loader): an epoch begins. `at` + `duration` covers the making of the iterator: where workers
// are started. `pass` counts from 1 within the process; `key` is equal in the pass's workers.
// With persistent workers (`reused`) each pass has a key of its own, and its workers say
// WorkerBegin again with that key: (key, batch) names one WorkerTask and one Fetch of the process.
struct IteratorBegin {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_ITERATOR_BEGIN;
  static constexpr const char* kName = "iterator";
  ThreadId thread;
  std::uint32_t loader = 0, pass = 0;
  std::uint64_t key = 0;
  Nanos duration{}, cpu{};
  bool reused = false;  // persistent workers: nothing was started
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("loader", s.loader), v("pass", s.pass), v("key", s.key),
        v("duration", s.duration), v("cpu", s.cpu), v("reused", s.reused);
  }
};

// One next() of a loader's iterator, on the thread that called it.
struct Fetch {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_FETCH;
  static constexpr const char* kName = "fetch";
  ThreadId thread;
  std::uint32_t loader = 0, pass = 0;
  Nanos duration{}, cpu{};   // cpu: this thread's, inside the call
  std::int64_t batch = -1;   // the loader's own index of the batch that was delivered
  std::int32_t worker = -1;  // who made it; -1 with no workers
  std::int32_t ready = -1;   // batches that had already arrived when the call began
  bool end = false;          // StopIteration or an exception: no batch
  Nanos processCpu{-1};      // all threads of the process inside the call; known when W = 0
  std::int64_t bytes = -1;   // of the batch's tensors; known when W = 0 (else the task's)
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("loader", s.loader), v("pass", s.pass), v("duration", s.duration),
        v("cpu", s.cpu), v("batch", s.batch), v("worker", s.worker), v("ready", s.ready),
        v("end", s.end), v("process_cpu", s.processCpu), v("bytes", s.bytes);
  }
};

// A worker process entered its loop.
struct WorkerBegin {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_WORKER_BEGIN;
  static constexpr const char* kName = "worker";
  ThreadId thread;
  std::uint64_t key = 0;
  std::int32_t worker = 0, workers = 0;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("key", s.key), v("worker", s.worker), v("workers", s.workers);
  }
};

// One batch of a worker, written when it has been handed to the queue's feeder. `at` is when the
// worker began to wait for an index; the offsets are from `at` and never decrease.
struct WorkerTask {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_WORKER_TASK;
  static constexpr const char* kName = "task";
  ThreadId thread;
  std::uint64_t key = 0;
  std::int32_t worker = 0;
  std::int64_t batch = -1;
  Nanos fetchBegin{}, fetchEnd{},
      putEnd{};               // offsets: index in hand; batch made; batch handed over
  Nanos cpu{}, processCpu{};  // fetchBegin..fetchEnd: this thread's; all threads'
  std::int64_t bytes = -1;    // of the batch's tensors; -1: not known
  std::int64_t majorFaults = -1, blockReads = -1;  // of this thread in the fetch (getrusage)
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("key", s.key), v("worker", s.worker), v("batch", s.batch),
        v("fetch_begin", s.fetchBegin), v("fetch_end", s.fetchEnd), v("put_end", s.putEnd),
        v("cpu", s.cpu), v("process_cpu", s.processCpu), v("bytes", s.bytes),
        v("majflt", s.majorFaults), v("inblock", s.blockReads);
  }
};

struct OptimizerStep {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_OPTIMIZER_STEP;
  static constexpr const char* kName = "optimizer";
  ThreadId thread;
  Nanos duration{};
  std::uint32_t optimizer = 0;  // counts from 1 within the process
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("duration", s.duration), v("optimizer", s.optimizer);
  }
};

// A stretch of a thread whose phase is known exactly: torch.save (periodic), a user's mark.
struct PhaseSpan {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_PHASE_SPAN;
  static constexpr const char* kName = "span";
  ThreadId thread;
  Nanos duration{};
  Phase phase = Phase::kUnknown;
  SpanSource source = SpanSource::kHook;
  StringId name;  // "torch.save", or the user's own word
  StringId file;  // the user's line, where known
  std::uint32_t line = 0;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("thread", s.thread), v("duration", s.duration), v("phase", s.phase), v("source", s.source),
        v("name", s.name), v("file", s.file), v("line", s.line);
  }
};

// ---- about the recording itself -----------------------------------------------------------------

struct ClockPair {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_CLOCK_PAIR;
  static constexpr const char* kName = "clock";
  Nanos realtime{}, boottime{};  // read together with `at`
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("realtime", s.realtime), v("boottime", s.boottime);
  }
};

// What a source could see from `at` on. `why` is for a person: what is missing, and what would
// help.
struct SourceState {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_SOURCE_STATE;
  static constexpr const char* kName = "source";
  StringId source;
  Coverage state = Coverage::kAbsent;
  StringId why;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("source", s.source), v("state", s.state), v("why", s.why);
  }
};

struct Loss {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_LOSS;
  static constexpr const char* kName = "loss";
  LossKind kind = LossKind::kRingFull;
  std::uint64_t count = 0;  // events, ticks, bytes: whatever the kind counts; since the last report
  StringId detail;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("kind", s.kind), v("count", s.count), v("detail", s.detail);
  }
};

// Nothing was recorded from `at` for `duration`: disk full, recorder stopped, host suspended.
struct Gap {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_GAP;
  static constexpr const char* kName = "gap";
  Nanos duration{};
  StringId why;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("duration", s.duration), v("why", s.why);
  }
};

// The command ended. A recording without this event is of a run that goes on or was cut off.
struct CommandEnd {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_COMMAND_END;
  static constexpr const char* kName = "command_end";
  std::int32_t exitCode = -1, signal = -1;  // one of them is -1
  std::int64_t outlived = 0;                // processes of the job still alive then
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("exit_code", s.exitCode), v("signal", s.signal), v("outlived", s.outlived);
  }
};

// Once a second: what we cost.
struct RecorderUsage {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_RECORDER_USAGE;
  static constexpr const char* kName = "recorder";
  Nanos cpu{};  // recorder and front together, cumulative
  std::int64_t residentBytes = 0, writtenBytes = 0;
  std::uint32_t milliHz = 0;  // looks per second at an active thread, in thousandths
  std::uint32_t pid = 0;
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("cpu", s.cpu), v("rss", s.residentBytes), v("written", s.writtenBytes),
        v("milli_hz", s.milliHz), v("pid", s.pid);
  }
};

struct SignalForwarded {
  static constexpr std::uint8_t kKind = STALLPROF_KIND_SIGNAL_FORWARDED;
  static constexpr const char* kName = "signal";
  std::int32_t signal = 0;
  bool forwarded = false;  // false: the job had it already (sent to its group)
  template <class S, class V>
  static void fields(S& s, V&& v) {
    v("signal", s.signal), v("forwarded", s.forwarded);
  }
};

using Payload =
    std::variant<ProcessSeen, ProcessGone, ThreadSeen, ThreadGone, ThreadSlice, ProcessUsage,
                 HostUsage, DiskUsage, NetworkUsage, CgroupUsage, FileSeen, SyscallCount,
                 FrameworkSeen, LoaderSeen, IteratorBegin, Fetch, WorkerBegin, WorkerTask,
                 OptimizerStep, PhaseSpan, ClockPair, SourceState, Loss, Gap, CommandEnd,
                 RecorderUsage, SignalForwarded, StackSeen, StackSlice>;

// `at`: when it happened, or when the stretch it tells of began; CLOCK_MONOTONIC of the host.
// Events of one stream are in order of writing, not of `at`.
struct Event {
  Nanos at{};
  Payload payload;
};

}  // namespace stallprof
