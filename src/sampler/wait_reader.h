// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sampler/perf/get_next_watch.h"
#include "sampler/proc/file_log.h"
#include "sampler/proc/mounts.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"
#include "sampler/proc/wait_class.h"
#include "sampler/processes/mapped_files.h"
#include "sampler/processes/open_files.h"
#include "sampler/processes/process_tree.h"
#include "sampler/slice_builder.h"

namespace stallprof {

// What a thread does or is blocked in at this instant, from /proc/TID/syscall: the call, the file
// or peer behind its descriptor, the get-next it is in. Where that file is refused, the kernel's
// wait channel, else the state letter. Reports the files that threads wait for and that the job
// holds open, and as sources what may be read at all.
class WaitReader {
 public:
  // What is kept of a thread between two readings.
  struct Thread {
    std::uint32_t pid = 0, tid = 0;
    ProcessId process;
    KeptFile call;
    std::uint64_t futex = 0;  // the address it sleeps on, as last seen; 0: none
    bool asked = false;       // what it is blocked in, at least once
    bool getsNext = false;    // it was seen inside a get-next
    ReadPlace place = {};
  };

  // `root` is "/" or a fixture; `fds`, which outlives it, bounds the descriptors that are kept.
  WaitReader(std::string root, FdBudget& fds);

  // What may be read of the job's first thread may be read of all.
  void probe(std::uint32_t pid, std::uint32_t tid, Nanos now, EventOut& out);
  [[nodiscard]] Seen read(Thread& thread, Nanos now, EventOut& out);
  // The state letter of /proc/TID/stat; '?' where the thread is gone.
  [[nodiscard]] char stateOf(const Thread& thread) const;
  // /proc/TID/syscall may be read: a futex that is 0 is none.
  [[nodiscard]] bool seesCalls() const { return !syscallDenied_; }
  // /proc/TID/schedstat may be read; else its stat is all that says whether it ran.
  [[nodiscard]] bool seesSchedule() const { return !schedDenied_; }
  void eachSecond(const ProcessTree& tree, Nanos now, EventOut& out);

 private:
  [[nodiscard]] Seen readCall(Thread& thread, const SyscallLine& line, Nanos now, EventOut& out);
  [[nodiscard]] Seen readDescriptor(Thread& thread, const CallClass& call, const SyscallLine& line,
                                    Nanos now, EventOut& out);
  // Null where it is not a poll of one socket.
  [[nodiscard]] std::optional<Seen> readPoll(const Thread& thread, const SyscallLine& line,
                                             Nanos now, EventOut& out);
  // Blocked outside of a call, in a page fault: the mapped file, where one stands out.
  [[nodiscard]] Seen readFault(const Thread& thread, Nanos now, EventOut& out);
  [[nodiscard]] Seen readWithoutSyscall(const Thread& thread, EventOut& out) const;

  std::string root_;
  FdBudget& fds_;
  Mounts mounts_;
  FileLog files_;
  FdClassifier classifier_;
  OpenFiles openFiles_;
  MappedFiles mapped_;
  GetNextWatch getNexts_;
  bool schedDenied_ = false, syscallDenied_ = false, wchanDenied_ = false;
};

}  // namespace stallprof
