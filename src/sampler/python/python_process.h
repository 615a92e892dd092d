// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sampler/python/code_cache.h"
#include "sampler/python/interpreter.h"
#include "sampler/python/remote_memory.h"
#include "sampler/python/runtime_locator.h"
#include "sampler/python/stack_reader.h"
#include "sampler/python/stack_slices.h"
#include "sampler/python/stack_tree.h"
#include "sampler/thread_looks.h"

namespace stallprof::python {

// What all processes of a run share.
struct Shared {
  explicit Shared(std::string root_) : root(root_), locator(std::move(root_)) {}
  std::string root;
  RuntimeLocator locator;
  StackReader reader;
  StackTree tree;
  std::uint32_t codes = 0;  // readings of code objects so far
  std::uint64_t torn = 0;   // looks at a stack that showed nothing to believe, since last told
  std::function<void(Coverage, const std::string&)>
      tell;  // what Python stacks can be seen, why not
};

// For those who saw a thread otherwise.
struct LastLook {
  Nanos at{};  // 0: never
  StackId stack;
  Nanos beforeAt{};  // the look before it
  StackId before;
  Nanos sameSince{};       // all looks from here to `at` saw `stack`
  StackAt ran, ranBefore;  // of the last two looks that found it runnable, the later first
  bool blocked = false;    // at the latest look
  // At the latest look it may have had others work for it: it ran, or slept on a lock that is not
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

  // The looks of one round at threads of this process.
  void round(const std::vector<ThreadLook>& looks, Nanos now, Nanos period, EventOut& out);
  // Leave out all but one in `stride` looks at threads that run.
  void setStride(unsigned stride);
  void flush(EventOut& out);
  [[nodiscard]] std::size_t takeEmitted();
  [[nodiscard]] std::uint64_t takeSkipped();
  // When that thread's stack was last seen, and what it was; no time where it has none.
  [[nodiscard]] LastLook lastLook(std::uint32_t tid) const;
  // Once a second: whether it is still the image it was.
  void check();
  [[nodiscard]] bool isPython() const { return interpreters_.has_value(); }

 private:
  struct Thread {
    PythonThread python;
    ThreadId id;
    StackMemory memory;
    std::vector<RawFrame> frames;  // of the last look, outermost first
    std::vector<StackId> nodes;    // of these
    std::size_t hidden = 0;        // outer frames that are the one remark "(truncated)"
    Nanos nodesSince{};            // when their code was last compared with the process
    StackSlices slices;
    Gil gil = Gil::kUnknown;                  // at the last look
    bool stale = true;                        // it ran since its stack was last read
    bool blocked = false, elsewhere = false;  // at the last look: asleep, and on no lock
    bool queues = false;                      // asleep for the interpreter's lock
    StackAt ran, ranBefore;                   // the last looks that found it runnable
    unsigned turn = 0;
  };
  [[nodiscard]] Nanos firstTry() const;
  [[nodiscard]] bool mayHaveLoaded(Nanos now);
  void attach(Nanos now);
  void begin(const Runtime& runtime, Interpreters found, Nanos now);
  void detach(EventOut& out);
  [[nodiscard]] bool isOurs(std::uint32_t tid) const;
  [[nodiscard]] std::uint32_t hostTid(std::uint32_t tid);
  void list(Nanos now, EventOut& out);
  [[nodiscard]] Thread* threadOf(const ThreadLook& look, Nanos now, EventOut& out);
  [[nodiscard]] bool due(const ThreadLook& look, Thread& thread, Nanos now, Nanos period,
                         EventOut& out);
  [[nodiscard]] bool readStack(Thread& thread, std::span<std::uint8_t> state);
  void readThread(const ThreadLook& look, Thread& thread, std::span<std::uint8_t> state, Nanos now,
                  Nanos period, EventOut& out);
  [[nodiscard]] StackId stackOf(Thread& thread, Nanos now, EventOut& out);
  [[nodiscard]] StackId nodeOf(const Thread& thread, std::size_t index, Nanos now, EventOut& out);
  [[nodiscard]] StackId truncated(Nanos now, EventOut& out);
  void countAwake(const std::vector<const ThreadLook*>& looks);
  [[nodiscard]] bool inLock(const InterpreterState& of, std::uint64_t futex) const;
  [[nodiscard]] Gil gilOf(const ThreadLook& look, const Thread& thread);

  std::uint32_t pid_;
  Shared& shared_;
  std::unique_ptr<RemoteMemory> memory_;
  std::optional<Interpreters> interpreters_;
  std::optional<CodeCache> codes_;
  Address runtime_ = 0;
  std::vector<Address> taken_;                                 // runtimes that are not ours
  std::unique_ptr<PythonProcess> other_;                       // reads the process's other runtimes
  std::unordered_map<std::uint32_t, Thread> threads_;          // by tid, as we count
  std::unordered_map<std::uint32_t, std::uint32_t> hostTids_;  // by tid in its own pid namespace
  bool ownNamespace_ = true;
  // Of the threads that this round found awake while another holds the lock: how many there are,
  // and how many of them wait for it.
  struct Awake {
    std::uint32_t threads = 0, waiting = 0;
  };
  std::vector<Awake> awake_;  // by interpreter
  bool unlisted_ = false;     // a thread that is not in the list ran since it was read
  Nanos nextAttach_{}, attachEvery_{}, nextList_{}, listEvery_{}, listedAt_{};
  Nanos nextSearch_{};            // for a second runtime, whatever was mapped
  std::int64_t mappedBytes_ = 0;  // at the search before, or less since
  unsigned stride_ = 1;
  std::uint64_t skipped_ = 0;
  unsigned badCodes_ = 0, goodCodes_ = 0;

  std::vector<RawFrame> frames_;  // scratch, as are these
  std::vector<std::pair<const ThreadLook*, Thread*>> reads_;
  std::vector<const PythonThread*> wanted_;
  std::vector<std::uint8_t> states_;
  std::vector<ThreadLook> unknown_;
};

}  // namespace stallprof::python
