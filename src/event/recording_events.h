// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "event/event_struct.h"

// Events that a reader of all others needs: who is who (processes, threads, the tree of stacks),
// the clocks, what could be seen, what was lost. The rules of all events are in event.h.
namespace stallprof {

// A process of the job. Repeated at the start of each segment and when the image changes (exec).
struct ProcessSeen {
  ProcessId process, parent;     // parent: none when outside the job
  std::uint32_t pid = 0;         // in the recorder's pid namespace
  std::uint64_t startTicks = 0;  // /proc/PID/stat field 22: with the pid, one life
  StringId comm, command, exe;   // command: argv joined as shell words, secrets masked
  STALLPROF_EVENT(PROCESS_SEEN, "process", v("process", s.process), v("parent", s.parent),
                  v("pid", s.pid), v("start", s.startTicks), v("comm", s.comm),
                  v("command", s.command), v("exe", s.exe))
};

struct ProcessGone {
  ProcessId process;
  STALLPROF_EVENT(PROCESS_GONE, "process_gone", v("process", s.process))
};

struct ThreadSeen {
  ThreadId thread;
  ProcessId process;
  std::uint32_t tid = 0;  // equals the process's pid for its main thread
  StringId name;
  STALLPROF_EVENT(THREAD_SEEN, "thread", v("thread", s.thread), v("process", s.process),
                  v("tid", s.tid), v("name", s.name))
};

struct ThreadGone {
  ThreadId thread;
  STALLPROF_EVENT(THREAD_GONE, "thread_gone", v("thread", s.thread))
};

// A frame with all its callers: one node of the tree of all stacks seen, whatever thread had them.
// Two nodes differ in any of what follows them. A caller's id is smaller than its callee's.
// Repeated before its first use in each segment, callers first.
struct StackSeen {
  StackId stack, caller;   // caller: none for the outermost frame
  StringId function;       // co_qualname from CPython 3.11, else co_name; or what kOther remarks
  StringId file;           // as the code object names it
  std::uint32_t line = 0;  // being executed, or the call to the next frame; 0: not known
  FrameKind kind = FrameKind::kPython;
  std::uint32_t firstLine = 0;  // of the function; 0: not known
  bool iterates = false;  // inside the iterator of a `for` statement at that line, or what it calls
  STALLPROF_EVENT(STACK_SEEN, "stack", v("stack", s.stack), v("caller", s.caller),
                  v("function", s.function), v("file", s.file), v("line", s.line),
                  v("kind", s.kind), v("first_line", s.firstLine), v("iterates", s.iterates))
};

struct ClockPair {
  Nanos realtime{}, boottime{};  // read together with `at`
  STALLPROF_EVENT(CLOCK_PAIR, "clock", v("realtime", s.realtime), v("boottime", s.boottime))
};

// What a source could see from `at` on. `why` is for a person: what is missing, and what would
// help.
struct SourceState {
  StringId source;
  Coverage state = Coverage::kAbsent;
  StringId why;
  STALLPROF_EVENT(SOURCE_STATE, "source", v("source", s.source), v("state", s.state),
                  v("why", s.why))
};

struct Loss {
  LossKind kind = LossKind::kRingFull;
  std::uint64_t count = 0;  // events, ticks, bytes: whatever the kind counts; since the last report
  StringId detail;
  STALLPROF_EVENT(LOSS, "loss", v("kind", s.kind), v("count", s.count), v("detail", s.detail))
};

// Nothing was recorded from `at` for `duration`; 0: what befell the clocks (host slept, clock set).
inline constexpr std::string_view kRecorderStopped = "recorder stopped";  // Gap::why
struct Gap {
  Nanos duration{};
  StringId why;
  STALLPROF_EVENT(GAP, "gap", v("duration", s.duration), v("why", s.why))
};

// From `at` for `duration` nothing was sampled, on purpose: the steps in between show the job
// without the samplers (sampler/pause_schedule.h). No loss: counters and what the job reports
// itself go on.
struct SamplingPause {
  Nanos duration{};
  STALLPROF_EVENT(SAMPLING_PAUSE, "pause", v("duration", s.duration))
};

// The command ended. A recording without this event is of a run that goes on or was cut off.
struct CommandEnd {
  std::int32_t exitCode = -1, signal = -1;  // one of them is -1
  std::int64_t outlived = 0;                // processes of the job still alive then
  STALLPROF_EVENT(COMMAND_END, "command_end", v("exit_code", s.exitCode), v("signal", s.signal),
                  v("outlived", s.outlived))
};

// Once a second: what we cost.
struct RecorderUsage {
  Nanos cpu{};  // recorder and front together, cumulative
  std::int64_t residentBytes = 0, writtenBytes = 0;
  std::uint32_t milliHz = 0;  // samples per second of an active thread, in thousandths
  std::uint32_t pid = 0;
  std::int64_t peakBytes = -1;  // the largest the recorder's resident memory has been; -1: unknown
  STALLPROF_EVENT(RECORDER_USAGE, "recorder", v("cpu", s.cpu), v("rss", s.residentBytes),
                  v("written", s.writtenBytes), v("milli_hz", s.milliHz), v("pid", s.pid),
                  v("peak_rss", s.peakBytes))
};

struct SignalForwarded {
  std::int32_t signal = 0;
  bool forwarded = false;  // false: the job had it already (sent to its group)
  STALLPROF_EVENT(SIGNAL_FORWARDED, "signal", v("signal", s.signal), v("forwarded", s.forwarded))
};

}  // namespace stallprof
