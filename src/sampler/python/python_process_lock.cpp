// SPDX-License-Identifier: MIT
// Of PythonProcess: who holds the interpreter's lock, and who waits for it.
#include "sampler/python/python_process.h"

namespace stallprof::python {

// A thread that is awake while another holds the lock may have been woken to ask for it again,
// every 5 ms, and wait for a core, or may work without the lock: its state is the same. How many of
// them wait is the lock's own count, less those asleep there.
void PythonProcess::countAwake(const std::vector<const ThreadLook*>& looks) {
  awake_.assign(interpreters_->interpreters().size(), {});
  for (const ThreadLook* look : looks) {
    const auto found = threads_.find(look->tid);
    if (found == threads_.end()) continue;
    Thread& thread = found->second;
    const InterpreterState& of = interpreters_->interpreters()[thread.python.interpreter];
    const bool without = of.holder != 0 && of.holder != thread.python.at;
    thread.queues = without && inLock(of, look->futex);
    if (without && !look->blocked && look->callSeen) ++awake_[thread.python.interpreter].threads;
  }
  for (std::size_t i = 0; i < awake_.size(); ++i) {
    if (awake_[i].threads == 0) continue;
    awake_[i].waiting = interpreters_->waiting(i, *memory_);
    if (awake_[i].waiting == 0) continue;
    for (const auto& [tid, thread] : threads_)
      if (thread.queues && thread.python.interpreter == i && awake_[i].waiting > 0)
        --awake_[i].waiting;
  }
}

bool PythonProcess::inLock(const InterpreterState& of, std::uint64_t futex) const {
  return futex >= of.gil && futex < of.gil + interpreters_->layout().gilBytes;
}

Gil PythonProcess::gilOf(const ThreadLook& look, const Thread& thread) {
  const InterpreterState& of = interpreters_->interpreters()[thread.python.interpreter];
  if (interpreters_->layout().freeThreaded || of.gil == 0) return Gil::kUnknown;
  if (of.holder == thread.python.at) return Gil::kHolds;
  if (inLock(of, look.futex)) return Gil::kWaits;
  if (look.blocked) return look.callSeen ? Gil::kReleased : Gil::kUnknown;
  Awake& awake = awake_[thread.python.interpreter];
  if (of.holder == 0 || awake.threads == 0) return Gil::kReleased;
  // Where some of them work without it, those that had to do with it at the last look wait.
  const bool likely = thread.gil == Gil::kWaits || thread.gil == Gil::kHolds;
  const bool waits = awake.waiting >= awake.threads || (likely && awake.waiting > 0);
  --awake.threads;
  if (waits) --awake.waiting;
  return waits ? Gil::kWaits : Gil::kReleased;
}

}  // namespace stallprof::python
