// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "event/event_out.h"
#include "sampler/python/remote_memory.h"

namespace stallprof {

// The functions whose return addresses on a thread's stack say that it gets the next element of a
// tf.data iterator: an operation of a graph, so that no Python call lasts as long as it does.
struct GetNextCode {
  struct Range {
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] bool has(std::uint64_t at) const { return at >= begin && at < end; }
  };
  Range getNext;                  // IteratorResource::GetNext, which fetches and waits
  std::vector<Range> operations;  // that call it: DoCompute of the operations
  Range worker;  // BackgroundWorker::WorkerLoop: its threads do nothing but one operation's work
  [[nodiscard]] bool known() const { return getNext.end != 0 && !operations.empty(); }

  struct Found {
    bool inside = false;
    bool dedicated = false;  // the thread is such a worker's
  };
  // `words`: of the stack, from where the thread stands outwards. Words left over from calls that
  // have returned are not in this order: an operation's frame lies outside of its callee's.
  [[nodiscard]] Found scan(std::span<const std::uint64_t> words) const;
};

// Which threads of the job are inside a get-next, read from outside: a thread that sleeps on a lock
// shows its stack pointer, and some KB above it are read and looked through. Threads of processes
// without TensorFlow cost a look-up of the process; those of one with it a read of 16 KB (4 us) at
// each place they are first seen to wait at, and now and then again.
class GetNextWatch {
 public:
  explicit GetNextWatch(std::string root);
  ~GetNextWatch();

  // A thread blocked in a futex, its stack at `stack`.
  [[nodiscard]] bool blockedInside(ProcessId process, std::uint32_t pid, std::uint32_t tid,
                                   std::uint64_t stack, Nanos now);
  // A thread that runs: inside, where it is one that does nothing else.
  [[nodiscard]] bool runsInside(ProcessId process, std::uint32_t tid) const;

  // The source `tfdata_get_next`, once there is a TensorFlow to look into and whenever that
  // changes.
  void tell(Nanos now, EventOut& out);

 private:
  struct Place {
    std::uint64_t stack = 0;
    unsigned met = 0;
  };
  struct Thread {
    std::vector<Place> outside;  // where it was seen to wait outside of a get-next
    bool dedicated = false;
  };
  struct Process;
  void examine(Process& process, std::uint32_t pid, Nanos now);

  std::string root_;
  std::unordered_map<ProcessId, std::unique_ptr<Process>> processes_;
  std::size_t found_ = 0, blind_ = 0;  // processes with TensorFlow; of those, that do not show it
  std::size_t toldFound_ = 0, toldBlind_ = 0;
};

// Of a living process; not known() where it has no TensorFlow, or one that does not name these.
// `has`: it maps a file that is TensorFlow's.
[[nodiscard]] GetNextCode getNextCodeOf(const std::string& root, std::uint32_t pid, bool& has);

}  // namespace stallprof
