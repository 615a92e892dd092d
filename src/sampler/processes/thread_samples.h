// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "event/event_out.h"
#include "sampler/proc/sampler.h"

namespace stallprof {

// A sample of the ThreadSampler at one thread.
struct ThreadSample {
  ThreadId thread;
  ProcessId process;
  std::uint32_t pid = 0, tid = 0;
  // It has not run since the sample before, and is blocked as it was then.
  bool stillBlocked = false;
  bool blocked = false;
  bool callSeen = false;    // we may know what it is blocked in, so that a futex of 0 means none
  std::uint64_t futex = 0;  // the address it sleeps on
  Nanos longest{1'000'000'000};  // that one slice of it may last
  bool preferred = false;        // it trains: none of its samples are left out
  Nanos between{};               // two samples of it, at the present pace
};

// For samplers that read more of the threads that the ThreadSampler samples, only when those ran:
// the stack of a thread that did not run is what it was.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // False: nothing is to be read of that thread, as far as is known, though of its process
  // something is.
  virtual bool sample(const ThreadSample& sample) = 0;
  // All samples of one round were given, at that pace.
  virtual void endRound(Nanos now, const Pace& pace, EventOut& out) = 0;
  // CPU so far of what a process costs at any pace, in rounds: to find its runtime, say.
  [[nodiscard]] virtual Nanos unpacedCpu() const { return {}; }
  // Nothing was sampled for so long (Sampler::resume).
  virtual void resume(Nanos paused) = 0;
  virtual void finish(Nanos now, EventOut& out) = 0;
};

}  // namespace stallprof
