// SPDX-License-Identifier: MIT
#include "sampler/python/lock_waiters.h"

namespace stallprof::python {

bool LockWaiters::add(const PythonThread& thread, const ThreadSample& sample) {
  const InterpreterState& of = interpreters_.interpreters()[thread.interpreter];
  const bool without = of.holder != 0 && of.holder != thread.at;
  if (without && !sample.blocked && sample.callSeen) ++awake_[thread.interpreter].threads;
  return without && inLock(of, sample.futex);
}

bool LockWaiters::inLock(const InterpreterState& of, std::uint64_t futex) const {
  return futex >= of.gil && futex < of.gil + interpreters_.layout().gilBytes;
}

Gil LockWaiters::stateOf(const PythonThread& thread, const ThreadSample& sample, Gil before) {
  const InterpreterState& of = interpreters_.interpreters()[thread.interpreter];
  if (interpreters_.layout().freeThreaded || of.gil == 0) return Gil::kUnknown;
  if (of.holder == thread.at) return Gil::kHolds;
  if (inLock(of, sample.futex)) return Gil::kWaits;
  if (sample.blocked) return sample.callSeen ? Gil::kReleased : Gil::kUnknown;
  Awake& awake = awake_[thread.interpreter];
  if (of.holder == 0 || awake.threads == 0) return Gil::kReleased;
  // Where some of them work without it, those that had to do with it at the last sample wait.
  const bool likely = before == Gil::kWaits || before == Gil::kHolds;
  const bool waits = awake.waiting >= awake.threads || (likely && awake.waiting > 0);
  --awake.threads;
  if (waits) --awake.waiting;
  return waits ? Gil::kWaits : Gil::kReleased;
}

}  // namespace stallprof::python
