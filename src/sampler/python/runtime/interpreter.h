// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "sampler/python/runtime/layout.h"
#include "sampler/python/runtime/remote_memory.h"
#include "sampler/python/runtime/runtime_locator.h"

namespace stallprof::python {

// An interpreter of a runtime (there may be more: PEP 554), as last read. From 3.12 each may have
// its own lock, so the lock is known by its address.
struct InterpreterState {
  Address at = 0, gil = 0;
  Address threads = 0;  // the head of its list of threads
  Address holder = 0;   // the thread that holds the lock; 0: none
  bool collecting = false;
};

// A thread of an interpreter.
struct PythonThread {
  Address at = 0, pthread = 0;
  std::size_t interpreter = 0;  // index
  std::uint32_t tid = 0;        // in the process's own pid namespace
};

// The interpreters and threads of one runtime in one process.
class Interpreters {
 public:
  // What was found at `runtime.at` is believed when it is of a version we know and its first
  // thread points back to its interpreter. kIo: not (yet) there, try again; kUnsupported: never.
  [[nodiscard]] static Result<Interpreters> attach(const Runtime& runtime, RemoteMemory& memory);

  // Reads the lists from the beginning. `isThread` says whether a number is one of the process's
  // threads. False when they cannot be read, or point in circles.
  [[nodiscard]] bool list(RemoteMemory& memory, const std::function<bool(std::uint32_t)>& isThread);
  struct Refreshed {
    bool moved = false;    // a list has a new head
    std::size_t more = 0;  // how many of `more` were read
  };
  // Reads locks, collectors and list heads, and the states of `threads` (layout().threadBytes
  // each, into `states`; fewer where one could not be read) in one call, and behind them `more`, at
  // most as many as roomBeside(threads). Nothing: unreadable.
  [[nodiscard]] std::optional<Refreshed> refresh(RemoteMemory& memory,
                                                 const std::vector<const PythonThread*>& threads,
                                                 std::vector<std::uint8_t>& states,
                                                 std::span<const RemoteSpan> more = {});
  [[nodiscard]] std::size_t roomBeside(std::size_t threads) const;
  // How many threads wait for an interpreter's lock, by the lock's own count: asleep, or woken and
  // not yet on a core. 0 where that cannot be known (a C library that is not glibc 2.25 or later).
  [[nodiscard]] std::uint32_t waiting(std::size_t interpreter, RemoteMemory& memory) const;
  // The bytes of a state still are that thread's.
  [[nodiscard]] bool still(const PythonThread& thread, std::span<const std::uint8_t> state) const;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<InterpreterState>& interpreters() const { return interpreters_; }
  [[nodiscard]] const std::vector<PythonThread>& threads() const { return threads_; }

 private:
  [[nodiscard]] bool listInterpreters(RemoteMemory& memory);
  [[nodiscard]] bool listThreads(std::size_t interpreter, RemoteMemory& memory,
                                 const std::function<bool(std::uint32_t)>& isThread);
  [[nodiscard]] std::uint32_t tidOf(std::span<const std::uint8_t> state, RemoteMemory& memory,
                                    const std::function<bool(std::uint32_t)>& isThread);

  Layout layout_;
  Address runtime_ = 0;
  std::vector<InterpreterState> interpreters_;
  std::vector<PythonThread> threads_;
  std::uint32_t tidInPthread_ = 0;  // where glibc keeps a thread's number; 0: not found yet
};

}  // namespace stallprof::python
