// SPDX-License-Identifier: MIT
#pragma once

#include "event/event_struct.h"

// Events that say who is who: processes, threads, and the tree of stacks. The rules of all events
// are in event.h.
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
// Two nodes differ in caller, function, file, line, kind or first line. A caller's id is smaller
// than its callee's. Repeated before its first use in each segment, callers first.
struct StackSeen {
  StackId stack, caller;   // caller: none for the outermost frame
  StringId function;       // co_qualname from CPython 3.11, else co_name; or what kOther remarks
  StringId file;           // as the code object names it
  std::uint32_t line = 0;  // being executed, or the call to the next frame; 0: not known
  FrameKind kind = FrameKind::kPython;
  std::uint32_t firstLine = 0;  // of the function; 0: not known
  STALLPROF_EVENT(STACK_SEEN, "stack", v("stack", s.stack), v("caller", s.caller),
                  v("function", s.function), v("file", s.file), v("line", s.line),
                  v("kind", s.kind), v("first_line", s.firstLine))
};

}  // namespace stallprof
