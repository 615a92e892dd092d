// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "event/event_out.h"

namespace stallprof {

// A look of the ThreadSampler at one thread.
struct ThreadLook {
  ThreadId thread;
  ProcessId process;
  std::uint32_t pid = 0, tid = 0;
  bool stood = false;  // it has not run since the look before, and is blocked as it was then
  bool blocked = false;
  bool callSeen = false;    // we may know what it is blocked in, so that a futex of 0 means none
  std::uint64_t futex = 0;  // the address it sleeps on
  Nanos longest{1'000'000'000};  // that one slice of it may last
};

// Whoever wants to look further at the threads the ThreadSampler looks at, and only when those ran:
// the stack of a thread that did not run is what it was.
class LookTaker {
 public:
  virtual ~LookTaker() = default;
  virtual void look(const ThreadLook& look) = 0;
  // All looks of one round were given. `period`: between two looks at a thread that runs.
  virtual void endRound(Nanos now, Nanos period, EventOut& out) = 0;
  virtual void finish(Nanos now, EventOut& out) = 0;
};

}  // namespace stallprof
