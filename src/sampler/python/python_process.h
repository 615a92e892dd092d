// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sampler/processes/thread_samples.h"
#include "sampler/python/lock_waiters.h"
#include "sampler/python/runtime/interpreter.h"
#include "sampler/python/runtime/remote_memory.h"
#include "sampler/python/runtime/runtime_locator.h"
#include "sampler/python/runtime/stack_reader.h"
#include "sampler/python/stack_nodes.h"
#include "sampler/python/stack_slices.h"
#include "sampler/python/stack_tree.h"
#include "sampler/python/tid_map.h"

namespace stallprof::python {

// What all processes of a run share.
struct Shared {
  explicit Shared(std::string root_) : root(root_), locator(std::move(root_)) {}
  std::string root;
  RuntimeLocator locator;
  StackReader reader;
  StackTree tree;
  int refused = 0;         // errno of a process whose mappings may not be read; 0: none such
  int unread = 0;          // of a Python whose memory may not, if only before its hook ran
  Nanos unpaced{};         // CPU so far of finding runtimes and listing their threads
  std::uint64_t torn = 0;  // samples of a stack that showed nothing to believe, since last reported
  std::function<void(Coverage, const std::string&)>
      report;  // what Python stacks can be seen, why not
};

// "the memory of a Python process is not ours to read: ..."
[[nodiscard]] std::string unreadText(int error);

// For those who saw a thread otherwise.
struct LastSample {
  Nanos at{};  // 0: never
  StackId stack;
  Nanos beforeAt{};  // the sample before it
  StackId before;
  Nanos sameSince{};       // all samples from here to `at` saw `stack`
  StackAt ran, ranBefore;  // of the last two samples that found it runnable, the later first
  bool blocked = false;    // at the latest sample
  // At the latest sample it may have had others work for it: it ran, or slept on a lock that is not
  // the interpreter's.
  bool delegates = false;
};

// One process of the job and the Python in it, if there is any: found, followed through exec, and
// read. Everything may fail at any time (the process may be gone): then there is no stack. A
// process may have a second runtime (a program that embeds two); a thread that both know is the
// first's.
class PythonProcess {
 public:
  // `taken`: runtimes of the process that others read.
  PythonProcess(std::uint32_t pid, Shared& shared, std::vector<Address> taken = {});

  // The samples of one round of threads of this process.
  void round(const std::vector<ThreadSample>& samples, Nanos now, EventOut& out);
  // Leave out all but one in `stride` samples of threads that run.
  void setStride(unsigned stride);
  void flush(EventOut& out);
  [[nodiscard]] std::size_t takeEmitted();
  [[nodiscard]] std::uint64_t takeSkipped();
  // When that thread's stack was last seen, and what it was; no time where it has none.
  [[nodiscard]] LastSample lastSample(std::uint32_t tid) const;
  // The thread has a stack of Python's, or had one when the threads were last listed.
  [[nodiscard]] bool knows(std::uint32_t tid) const;
  // Once a second: whether it is still the image it was.
  void check();
  [[nodiscard]] bool isPython() const { return interpreters_.has_value(); }

 private:
  struct Thread {
    PythonThread python;
    ThreadId id;
    StackMemory memory;
    StackNodes::Thread stack;
    StackSlices slices;
    Gil gil = Gil::kUnknown;                  // at the last sample
    bool stale = true;                        // it ran since its stack was last read
    bool blocked = false, elsewhere = false;  // at the last sample: asleep, and on no lock
    bool queues = false;                      // asleep for the interpreter's lock
    StackAt ran, ranBefore;                   // the last samples that found it runnable
    unsigned turn = 0;
  };
  [[nodiscard]] Nanos firstTry() const;
  [[nodiscard]] bool mayHaveLoaded(Nanos now);
  void attach(Nanos now);
  void begin(const Runtime& runtime, Interpreters found, Nanos now);
  void detach(EventOut& out);
  [[nodiscard]] bool isOurs(std::uint32_t tid) const;
  void list(Nanos now, EventOut& out);
  [[nodiscard]] Thread* threadOf(const ThreadSample& sample, Nanos now, EventOut& out);
  [[nodiscard]] bool isDue(const ThreadSample& sample, Thread& thread, Nanos now, EventOut& out);
  // A thread whose stack is due.
  struct Due {
    const ThreadSample* sample = nullptr;
    Thread* thread = nullptr;
    StackCopy* copied = nullptr;  // of its stack, where that was expected; may be nothing
  };
  void choose(const std::vector<const ThreadSample*>& known, Nanos now, EventOut& out);
  [[nodiscard]] bool readStack(const Due& due, std::span<std::uint8_t> state);
  void readThread(const Due& due, std::span<std::uint8_t> state, Nanos now, EventOut& out);
  void listSoon(Nanos now, EventOut& out);
  void countWaiters(const std::vector<const ThreadSample*>& samples);

  std::uint32_t pid_;
  Shared& shared_;
  std::unique_ptr<RemoteMemory> memory_;
  std::optional<Interpreters> interpreters_;
  std::optional<StackNodes> nodes_;
  std::optional<LockWaiters> lock_;
  Address runtime_ = 0;
  std::vector<Address> taken_;                         // runtimes that are not ours
  std::unique_ptr<PythonProcess> other_;               // reads the process's other runtimes
  std::unordered_map<std::uint32_t, Thread> threads_;  // by tid, as we count
  TidMap tids_;
  bool unlisted_ = false;  // a thread that is not in the list ran since it was read
  Nanos nextAttach_{}, attachEvery_{}, nextList_{}, listEvery_{}, listedAt_{};
  Nanos refusedSince_{};          // 0: its memory is not refused to us
  Nanos nextSearch_{};            // for a second runtime, whatever was mapped
  std::int64_t mappedBytes_ = 0;  // at the search before, or less since
  unsigned stride_ = 1;
  std::uint64_t skipped_ = 0;

  std::vector<RawFrame> frames_;  // scratch, as are these
  std::vector<Due> due_;
  std::vector<const PythonThread*> wanted_;  // of due_
  std::vector<std::uint8_t> states_;
  std::vector<ThreadSample> unknown_;
  std::vector<const ThreadSample*> known_;
};

}  // namespace stallprof::python
