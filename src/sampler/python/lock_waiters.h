// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "event/vocabulary.h"
#include "sampler/processes/thread_samples.h"
#include "sampler/python/runtime/interpreter.h"

namespace stallprof::python {

// Who holds the interpreter's lock in a round of samples, and who waits for it. A thread that is
// awake while another holds the lock may have been woken to ask for it again, every 5 ms, and wait
// for a core, or may work without the lock: its state is the same. How many of them wait is the
// lock's own count, less those asleep there.
class LockWaiters {
 public:
  // `interpreters` outlives it.
  explicit LockWaiters(const Interpreters& interpreters) : interpreters_(interpreters) {}

  // A round begins; the interpreters have been refreshed. Then `add` each thread of it, `count`,
  // and ask for each.
  void beginRound() { awake_.assign(interpreters_.interpreters().size(), {}); }
  // Whether the thread is asleep for the lock.
  [[nodiscard]] bool add(const PythonThread& thread, const ThreadSample& sample);
  // `asleepOf(i)`: how many threads are known asleep for the lock of interpreter `i`, of this round
  // or an earlier one. Asked only where it matters.
  template <class AsleepOf>
  void count(RemoteMemory& memory, AsleepOf&& asleepOf) {
    for (std::size_t i = 0; i < awake_.size(); ++i) {
      if (awake_[i].threads == 0) continue;
      awake_[i].waiting = interpreters_.waiting(i, memory);
      if (awake_[i].waiting == 0) continue;
      awake_[i].waiting -= std::min(awake_[i].waiting, static_cast<std::uint32_t>(asleepOf(i)));
    }
  }
  // `before`: of the same thread at its last sample. Takes its place among those that wait.
  [[nodiscard]] Gil stateOf(const PythonThread& thread, const ThreadSample& sample, Gil before);

 private:
  [[nodiscard]] bool inLock(const InterpreterState& of, std::uint64_t futex) const;

  // Of the threads that this round found awake while another holds the lock: how many there are,
  // and how many of them wait for it.
  struct Awake {
    std::uint32_t threads = 0, waiting = 0;
  };
  const Interpreters& interpreters_;
  std::vector<Awake> awake_;  // by interpreter
};

}  // namespace stallprof::python
