// SPDX-License-Identifier: MIT
#include "classify/waits.h"

#include "classify/own_rules.h"

namespace stallprof {

WaitRule producerWait(Wait wait) {
  switch (wait) {
    case Wait::kFileRead:
      return {Phase::kExtract, "wait.file_read"};
    case Wait::kFileMeta:
      return {Phase::kExtract, "wait.file_meta"};
    // Inside a fetch a write fills a cache of what was fetched.
    case Wait::kFileWrite:
      return {Phase::kExtract, "wait.file_write"};
    case Wait::kPageFault:
      return {Phase::kExtract, "wait.page_fault"};
    case Wait::kSocket:
      return {Phase::kExtract, "wait.socket"};
    // A thread of the pool or a child process does the work meanwhile.
    case Wait::kFutex:
      return {Phase::kTransform, "wait.lock"};
    case Wait::kPipe:
      return {Phase::kTransform, "wait.pipe"};
    case Wait::kChild:
      return {Phase::kTransform, "wait.child"};
    case Wait::kMemory:
      return {Phase::kTransform, "wait.memory_map"};
    // Never found blocked: what is left is waiting for a CPU between two samples.
    case Wait::kRunning:
      return {Phase::kTransform, "wait.runnable"};
    // A sleep is nobody's work; the others do not say what was waited for.
    case Wait::kSleep:
      return {Phase::kUnknown, kAsleep};
    case Wait::kUnknown:
    case Wait::kPoll:
    case Wait::kEventLoop:
    case Wait::kDevice:
    case Wait::kStopped:
    case Wait::kOther:
      return {Phase::kUnknown, "wait.unnamed"};
  }
  return {Phase::kUnknown, "wait.unnamed"};
}

WaitRule trainerWait(Wait wait) {
  const WaitRule rule = producerWait(wait);
  if (wait == Wait::kFileWrite) return {Phase::kPeriodic, rule.rule};
  if (wait == Wait::kDevice) return {Phase::kCompute, "wait.device"};
  return {rule.phase == Phase::kTransform ? Phase::kCompute : rule.phase, rule.rule};
}

}  // namespace stallprof
