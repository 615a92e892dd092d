// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "event/event_struct.h"

// Events of what is sampled from outside of the job. The rules of all events are in event.h.
namespace stallprof {

// ThreadSlice.what of a thread inside a get-next of tf.data that a graph does, and no Python sees:
// blocked in it, or, where the thread does nothing else, running.
inline constexpr std::string_view kInGetNext = "tf.data get-next";

// A thread over one sample, or several samples that saw the same (merged, at most 1 s; among
// hundreds of threads longer, up to a minute). `at` is the begin: the sample before the first of
// these. A sample is an instant, and `wait` and `what` are what it saw: `samples` of them, evenly
// spaced, the last at the slice's end (0: none, the thread ended). run + queued are schedstat
// deltas over the whole slice, exact over a second and more; what is left of `duration` was spent
// blocked. In what it was blocked, only the share of many samples says: a slice with kRunning may
// hold blocked time, from before its sample.
struct ThreadSlice {
  ThreadId thread;
  Wait wait = Wait::kUnknown;  // before the durations: no gap, in a million of these
  Nanos duration{}, run{}, queued{};
  StringId what;  // file path, futex or syscall name, wchan; none when not resolved
  std::uint32_t samples = 1;
  STALLPROF_EVENT(THREAD_SLICE, "slice", v("thread", s.thread), v("duration", s.duration),
                  v("run", s.run), v("queued", s.queued), v("wait", s.wait), v("what", s.what),
                  v("samples", s.samples))
};

// Once a second for a process; all counters cumulative.
struct ProcessUsage {
  ProcessId process;
  Nanos cpu{-1};               // the kernel's process clock: exact, all threads, exited ones too
  Nanos user{-1}, system{-1};  // stat's utime and stime, scaled by ticks
  std::int64_t readChars = -1, writeChars = -1, readCalls = -1, writeCalls = -1;  // /proc/PID/io
  std::int64_t readBytes = -1, writeBytes = -1;                                   // from storage
  std::int64_t minorFaults = -1, majorFaults = -1;
  std::int64_t residentBytes = -1, sharedBytes = -1;  // statm: RSS and its file+shmem part
  std::int32_t threads = -1;
  std::int32_t node = -1;  // of memory, of the CPU on which its first thread last ran
  STALLPROF_EVENT(PROCESS_USAGE, "usage", v("process", s.process), v("cpu", s.cpu),
                  v("user", s.user), v("system", s.system), v("rchar", s.readChars),
                  v("wchar", s.writeChars), v("syscr", s.readCalls), v("syscw", s.writeCalls),
                  v("read_bytes", s.readBytes), v("write_bytes", s.writeBytes),
                  v("minflt", s.minorFaults), v("majflt", s.majorFaults), v("rss", s.residentBytes),
                  v("shared", s.sharedBytes), v("threads", s.threads), v("node", s.node))
};

// Once a second for the host. CPU times are of all CPUs together.
struct HostUsage {
  Nanos busy{-1}, idle{-1}, ioWait{-1}, steal{-1};
  Nanos jobCpu{-1};  // CPU of all processes of the job so far, exited ones included
  std::int64_t memoryTotal = -1, memoryAvailable = -1, pageCache = -1, dirty = -1;  // bytes
  std::int64_t swapInPages = -1, swapOutPages = -1;
  std::int64_t shmUsed = -1, shmTotal = -1;                                   // /dev/shm, bytes
  Nanos cpuSome{-1}, ioSome{-1}, ioFull{-1}, memorySome{-1}, memoryFull{-1};  // PSI totals
  std::int64_t reclaimScans = -1;  // vmstat pgscan_direct
  // Of the CPUs that the job's threads may run on: how many there are, and what all programs did on
  // them since the first row. `besideBusy`: on the other hardware threads of their cores; -1: none.
  std::int64_t allowedCpus = -1;
  Nanos allowedBusy{-1}, allowedSteal{-1}, besideBusy{-1};
  // Other recorders of the same job on this host, and the CPU of what they record, on those CPUs.
  std::int64_t siblings = -1;
  Nanos siblingCpu{-1};
  std::int32_t nodes = -1;         // of memory (NUMA), that have CPUs
  std::int64_t allowedCores = -1;  // that `allowedCpus` are hardware threads of
  STALLPROF_EVENT(HOST_USAGE, "host", v("busy", s.busy), v("idle", s.idle), v("iowait", s.ioWait),
                  v("steal", s.steal), v("job_cpu", s.jobCpu), v("mem_total", s.memoryTotal),
                  v("mem_available", s.memoryAvailable), v("page_cache", s.pageCache),
                  v("dirty", s.dirty), v("swap_in", s.swapInPages), v("swap_out", s.swapOutPages),
                  v("shm_used", s.shmUsed), v("shm_total", s.shmTotal), v("psi_cpu", s.cpuSome),
                  v("psi_io", s.ioSome), v("psi_io_full", s.ioFull), v("psi_memory", s.memorySome),
                  v("psi_memory_full", s.memoryFull), v("direct_scans", s.reclaimScans),
                  v("allowed_cpus", s.allowedCpus), v("allowed_busy", s.allowedBusy),
                  v("allowed_steal", s.allowedSteal), v("beside_busy", s.besideBusy),
                  v("siblings", s.siblings), v("sibling_cpu", s.siblingCpu), v("nodes", s.nodes),
                  v("allowed_cores", s.allowedCores))
};

struct DiskUsage {
  StringId device;
  std::int64_t reads = 0, readBytes = 0, writes = 0, writeBytes = 0;
  Nanos readTime{}, writeTime{}, busy{};  // diskstats: summed request times, and time with any
  STALLPROF_EVENT(DISK_USAGE, "disk", v("device", s.device), v("reads", s.reads),
                  v("read_bytes", s.readBytes), v("writes", s.writes),
                  v("write_bytes", s.writeBytes), v("read_time", s.readTime),
                  v("write_time", s.writeTime), v("busy", s.busy))
};

struct NetworkUsage {
  StringId interface;
  std::int64_t receivedBytes = 0, sentBytes = 0;
  STALLPROF_EVENT(NETWORK_USAGE, "network", v("interface", s.interface), v("rx", s.receivedBytes),
                  v("tx", s.sentBytes))
};

// The control group of the command, v1 or v2; -1 where a controller is not there or has no limit.
struct CgroupUsage {
  std::int32_t version = 0;
  std::int64_t cpuQuotaMilli = -1;  // thousandths of a CPU; tightest along the path to the root
  std::int64_t periods = -1, throttledPeriods = -1;
  Nanos throttled{-1};
  std::int64_t memoryBytes = -1, memoryLimit = -1, memoryFile = -1, oomKills = -1;
  Nanos cpu{-1};  // of all tasks of the group that has the quota
  STALLPROF_EVENT(CGROUP_USAGE, "cgroup", v("version", s.version), v("cpu_milli", s.cpuQuotaMilli),
                  v("periods", s.periods), v("throttled_periods", s.throttledPeriods),
                  v("throttled", s.throttled), v("memory", s.memoryBytes),
                  v("memory_limit", s.memoryLimit), v("file", s.memoryFile),
                  v("oom_kills", s.oomKills), v("cpu", s.cpu))
};

// A file a process of the job was seen to wait for or hold open; at most once a second per file.
struct FileSeen {
  ProcessId process;
  StringId path, mount, fsType, source;  // mount point, its type (ext4, nfs4, fuse.x), its device
  // Bytes; size of what is mapped, where a page fault was waited for; offset of the last read seen.
  std::int64_t size = -1, offset = -1;
  std::uint32_t waits = 0;  // samples that found a thread blocked in it, since the last
  // Of those, reads that followed one of the same thread in the same file within a second: at its
  // place or behind it (`onward`), or before it (`scattered`).
  std::uint32_t onward = 0, scattered = 0;
  STALLPROF_EVENT(FILE_SEEN, "file", v("process", s.process), v("path", s.path),
                  v("mount", s.mount), v("type", s.fsType), v("source", s.source),
                  v("size", s.size), v("offset", s.offset), v("waits", s.waits),
                  v("onward", s.onward), v("scattered", s.scattered))
};

// Calls of one system call by the whole job, cumulative; only where the host lets us count.
struct SyscallCount {
  StringId name;
  std::int64_t count = 0;
  STALLPROF_EVENT(SYSCALL_COUNT, "syscalls", v("name", s.name), v("count", s.count))
};

// What samples of a thread's stack saw: `samples` of them in a row that saw the same, evenly
// spaced, the first at `at`, the last `duration` later (0 for one sample). At most a second is
// merged, of a thread long asleep ten. Only threads that have Python frames have them; where two
// slices of a thread leave more than a sample's period between them, its stack was not seen.
struct StackSlice {
  ThreadId thread;
  StackId stack;  // the innermost frame; none: the thread was in no Python frame
  Nanos duration{};
  std::uint32_t samples = 1;
  Gil gil = Gil::kUnknown;
  bool gc = false;  // its interpreter's collector was running, in this thread
  STALLPROF_EVENT(STACK_SLICE, "stack_slice", v("thread", s.thread), v("duration", s.duration),
                  v("stack", s.stack), v("samples", s.samples), v("gil", s.gil), v("gc", s.gc))
};

}  // namespace stallprof
