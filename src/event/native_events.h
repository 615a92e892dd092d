// SPDX-License-Identifier: MIT
#pragma once

#include "event/event_struct.h"

// Events of native code: what the kernel's samples saw threads execute, and what the CPUs counted
// meanwhile. The rules of all events are in event.h.
namespace stallprof {

// The function of a place in "[jit]" that waits in a loop without giving up its CPU.
inline constexpr std::string_view kSpinLoop = "[spin loop]";

// Samples of one thread on a CPU within [at, at + duration) that saw the same place: taken each
// kNativePeriod of CPU time that a CPU spends on the job, on average (the source "native_samples"
// says if less often). A place is a few neighbouring instructions of a file, under one Python
// stack.
struct NativeSlice {
  ThreadId thread;
  Nanos duration{};
  // The Python frame it ran under, or, of a thread that runs no Python, that had its work done
  // there; none: none was seen.
  StackId stack;
  StringId file;  // as mapped; "[kernel]", "[vdso]"; "//anon", "[jit]" made at run time; or unknown
  StringId build;            // the file's build id in hex; none: it has none, or it was not known
  std::uint64_t offset = 0;  // of one of the instructions, in the file; 0: places not distinguished
  std::uint32_t samples = 0;  // at least 1
  // What the file's symbols say of `offset`, as they spell it (mangled): filled in by a reader,
  // from a NativePlace or from the file. Of "[jit]" by the recorder, and `offset` is the function's
  // address, of kSpinLoop the instruction's; of "[kernel]" too: the system call, or "page_fault".
  StringId function;
  // Of a program without an interpreter: whose call led into the library that this is in (another
  // file's code), or into a template of C++'s standard library (the program's own), the call's
  // place in it; of a page fault the program's code that it was in; none: not known.
  StringId callerFile, callerBuild;
  std::uint64_t callerOffset = 0;
  StringId callerFunction{};  // filled in by a reader, as `function`
  bool draws = false;  // filled in by a reader: the code around `offset` draws random numbers
  // Filled in by a reader, of a program without an interpreter: the loop that `offset` lies in, and
  // the one that the call lies in.
  LoopCode loop{}, callerLoop{};
  STALLPROF_EVENT(NATIVE_SLICE, "native", v("thread", s.thread), v("duration", s.duration),
                  v("stack", s.stack), v("file", s.file), v("build", s.build),
                  v("offset", s.offset), v("samples", s.samples), v("function", s.function),
                  v("caller_file", s.callerFile), v("caller_build", s.callerBuild),
                  v("caller_offset", s.callerOffset), v("caller_function", s.callerFunction),
                  v("draws", s.draws), v("loop", s.loop), v("caller_loop", s.callerLoop))
};
// 99 a second: not in step with whatever samples a hundred times a second, ours or the job's.
inline constexpr Nanos kNativePeriod{10'101'010};

// What the file says of a place that samples fell into, or of a call that led there: read at the
// end of the run, where it ran. A reader elsewhere needs no such file.
struct NativePlace {
  StringId file, build;  // as in NativeSlice
  std::uint64_t offset = 0;
  StringId function;  // as the symbols spell it (mangled); none: they do not say
  bool draws = false;
  LoopCode loop{};  // unknown where an interpreter ran
  STALLPROF_EVENT(NATIVE_PLACE, "native_place", v("file", s.file), v("build", s.build),
                  v("offset", s.offset), v("function", s.function), v("draws", s.draws),
                  v("loop", s.loop))
};

// One of the CPUs' own counters over all of the job, exited processes included; once a second, all
// cumulative. With more counters than the CPU has they take turns: what `count` stands for is
// count * enabled / running.
struct CounterUsage {
  StringId name;  // "cycles", "instructions", "llc_misses", "stalled_cycles", "fp_..."
  std::uint64_t count = 0;
  Nanos enabled{}, running{};  // of CPU time: wished for, and counted in
  STALLPROF_EVENT(COUNTER_USAGE, "counter", v("name", s.name), v("count", s.count),
                  v("enabled", s.enabled), v("running", s.running))
};

}  // namespace stallprof
