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
#include "sampler/processes/live_processes.h"
#include "sampler/python/runtime/remote_memory.h"

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
    // Which of the words is the operation's, where inside, and the loop's, where dedicated.
    std::size_t operation = 0, loop = 0;
  };
  // `words`: of the stack, from the innermost call outwards. Words left over from calls that
  // have returned are not in this order: an operation's frame lies outside of its callee's.
  [[nodiscard]] Found scan(std::span<const std::uint64_t> words) const;
};

// The stack of a thread of such a loop, as it was seen asleep: a thread that runs does not show
// where its stack ends, but the loop and what it calls are at the same places each time. A worker
// that has its element goes on with the graph's next operations on this same stack, and what calls
// left behind lies about there: the address that the operation returns to is what differs.
struct GetNextWorker {
  struct Word {
    std::uint64_t at = 0, is = 0;
  };
  std::uint64_t loop = 0;   // where its word of the loop is; 0: it is no worker, as far as known
  std::uint64_t idle = 0;   // that word, while it waits for work
  std::vector<Word> marks;  // code between operation and loop, as in every get-next so far

  // `words` from `stack` on, read while it slept; `library`: where code may be.
  void learn(const GetNextCode::Found& found, std::span<const std::uint64_t> words,
             std::uint64_t stack, std::span<const GetNextCode::Range> library);
  // Of the words from `begin` to the loop's, read while it ran.
  [[nodiscard]] std::uint64_t begin() const;
  [[nodiscard]] bool inside(const GetNextCode& code, std::span<const std::uint64_t> words) const;
};

// Which threads of the job are inside a get-next, read from outside: a thread that sleeps on a lock
// shows its stack pointer, and some KB above it are read and searched. Threads of processes
// without TensorFlow cost a lookup of the process; those of one with it a read of 16 KB (4 us) at
// each place they are first seen to wait at, and now and then again.
class GetNextWatch {
 public:
  explicit GetNextWatch(std::string root);
  ~GetNextWatch();

  // A thread blocked in a futex, its stack at `stack`.
  [[nodiscard]] bool blockedInside(ProcessId process, std::uint32_t pid, std::uint32_t tid,
                                   std::uint64_t stack, Nanos now);
  // A thread that runs, or waits for a CPU: known for those that do nothing but get-nexts and what
  // follows from them.
  [[nodiscard]] bool runsInside(ProcessId process, std::uint32_t tid);
  // Forgets all processes but these, and what is kept open of them.
  void keep(const std::vector<LiveProcess>& alive);

  // The source `tfdata_get_next`, once there is a TensorFlow to examine and whenever that
  // changes.
  void report(Nanos now, EventOut& out);

 private:
  struct Place {
    std::uint64_t stack = 0;
    unsigned met = 0;
  };
  struct Thread {
    std::vector<Place> outside;  // where it was seen to wait outside of a get-next
    GetNextWorker worker;
  };
  struct Process;
  void examine(Process& process, std::uint32_t pid, Nanos now);

  std::string root_;
  std::unordered_map<ProcessId, std::unique_ptr<Process>> processes_;
  // Of all processes so far: those with TensorFlow, and of those the ones that do not show it.
  std::size_t found_ = 0, blind_ = 0;
  std::size_t reportedFound_ = 0, reportedBlind_ = 0;
};

// Of a living process; not known() where it has no TensorFlow, or one that does not name these.
// `library`: where files that are TensorFlow's are mapped.
[[nodiscard]] GetNextCode getNextCodeOf(const std::string& root, std::uint32_t pid,
                                        std::vector<GetNextCode::Range>& library);

}  // namespace stallprof
