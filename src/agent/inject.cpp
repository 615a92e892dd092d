// SPDX-License-Identifier: MIT
//
// The entry points: what the driver, NVTX and the hook call. Nothing runs before one of them does,
// and whatever they return, the job goes on as it would have.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cupti/agent.h"
#include "agent/cupti/caller.h"
#include "agent/cupti/tracing.h"
#include "agent/process/event_slot.h"
#include "agent/process/forks.h"
#include "agent/process/system.h"

#define STALLPROF_EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
__attribute__((visibility("default"))) extern std::uint32_t stallprof_agent_due;
std::uint32_t stallprof_agent_due;
}

namespace stallprof::agent {

constinit Agent agent{};

std::atomic_ref<std::uint32_t> turnDue() {
  return std::atomic_ref<std::uint32_t>(stallprof_agent_due);
}

void publishWhy(stallprof_agent_state state, CuptiResult error, const char* why, const char* more) {
  stallprof_activity_area* area = agent.memory.area;
  if (area == nullptr) return;
  if (why != area->why) {
    Text text = textIn(area->why);
    text << why;
    if (more[0] != 0) text << " (" << more << ")";
  }
  area->error = error;
  publishState(*area, state);
}

namespace {

constexpr std::uint32_t kAll = STALLPROF_ON_COPIES | STALLPROF_ON_KERNELS | STALLPROF_ON_CALLS;
constexpr std::uint64_t kOneSecond = 1'000'000'000u;

// The child has the parent's CUDA in name only, and its CUPTI without the threads it counts on.
void inForkedChild() {
  countFork();
  forgetEvents();
  if (agent.memory.area == nullptr) return;
  agent.off.store(true, std::memory_order_relaxed);
  shadowArea(agent.memory);
}

void atExit() {
  if (agent.off.load() || !(agent.attached || agent.paused)) return;
  ask(Order::kFinish, 2 * kOneSecond);
}

// STALLPROF_AGENT_ON: the sum of what to record (STALLPROF_ON_...), and 8 for never in windows; to
// measure on a real GPU what each costs.
void readWanted() {
  const char* on = getenv("STALLPROF_AGENT_ON");
  agent.wanted = on != nullptr ? static_cast<std::uint32_t>(atoi(on)) & kAll : kAll;
  agent.continuous = on != nullptr && (atoi(on) & 8) != 0;
}

void start() {
  const char* path = getenv(STALLPROF_ACTIVITY_VARIABLE);
  if (path == nullptr || path[0] == 0) return;
  agent.memory = claimArea(path);
  if (agent.memory.area == nullptr) return;
  guardForks();
  const char* why = findCupti(agent.cupti);
  agent.memory.area->cupti_version = agent.cupti.version;
  agent.memory.area->driver_version = static_cast<std::uint32_t>(agent.cupti.driverVersion);
  if (why != nullptr) {
    agent.off = true;
    return publishWhy(STALLPROF_AGENT_REFUSED, 0, why);
  }
  readWanted();
  atexit(atExit);  // even if refused: it may be had later
  attach(agent.wanted);
}

}  // namespace

// Also before any context is made: we have CUPTI from cuInit on, and torch's profiler, refused
// once, would not see the GPU in all of the process's life.
bool releaseCupti() {
  if (agent.memory.area == nullptr || agent.off) return false;
  if (!agent.attached && !agent.paused) return true;
  startCaller();
  return ask(Order::kRelease, 5 * kOneSecond);
}

// Also where another profiler had CUPTI before us, so that we never had it: then nothing of ours
// runs yet.
bool retakeCupti() {
  if (agent.memory.area == nullptr || agent.off) return false;
  startCaller();
  return ask(Order::kRetake, 5 * kOneSecond);
}

// Nothing is switched from now on.
bool keepAsItIs(const char* why) {
  if (agent.memory.area == nullptr || agent.off) return false;
  turnDue() = 0;
  if (!agent.continuous.exchange(true) && agent.paused) publishWhy(STALLPROF_AGENT_YIELDED, 0, why);
  return agent.attached;
}

// Whether a thread that is not known to rest during an update of a model has called CUDA.
// PyTorch's backward pass is over by then; what its thread of pinned memory does went well with
// some hundred turns on an H200.
bool othersCall() {
  if (agent.manyCallers || agent.cupti.setThreadIdType == nullptr) return true;
  for (const std::atomic<std::uint32_t>& known : agent.callers) {
    const std::uint32_t thread = known.load();
    char name[16];
    if (thread == 0 || thread == threadId() || !threadName(thread, name)) continue;
    bool resting = false;
    for (const char* begin : {"pt_autograd", "pt_data_pin", "stallprof"})
      resting = resting || strncmp(name, begin, strlen(begin)) == 0;
    if (!resting) return true;
  }
  return false;
}

// CUPTI corrupts the memory of a process that it leaves, or in which it is switched off, while
// other threads are within CUDA (13.0.85 on an H200). Here none is.
bool turnWindow() {
  if (agent.memory.area == nullptr || agent.off || turnDue() == 0) return false;
  if (othersCall()) return keepAsItIs("other threads of the program use CUDA: CUPTI stays away");
  const DriverSynchronize synchronize = agent.cupti.driverSynchronize;
  return synchronize != nullptr && synchronize() == 0 && ask(Order::kTurn, 5 * kOneSecond);
}

void guardForks() {
  static std::atomic<bool> guarded;
  if (!guarded.exchange(true)) pthread_atfork(nullptr, nullptr, inForkedChild);
}

}  // namespace stallprof::agent

// Called by the driver within cuInit, once; 1: fine.
STALLPROF_EXPORT int InitializeInjection(void) {
  static std::atomic<bool> called;
  if (!called.exchange(true)) stallprof::agent::start();
  return 1;
}

// For the hook: a window that is due begins or ends. The caller trains, has just launched its last
// backward pass, and captures no graph; stallprof_agent_due is not 0.
STALLPROF_EXPORT int stallprof_agent_turn(void) { return stallprof::agent::turnWindow() ? 1 : 0; }

// For the hook: the calling thread is about to capture a graph. A program that has one crashes
// when CUPTI is switched, or comes (13.0.85 on an H200). 1: all is recorded from here on.
STALLPROF_EXPORT int stallprof_agent_keep(void) {
  return stallprof::agent::keepAsItIs(
             "the program captured CUDA graphs between two windows: CUPTI stays away")
             ? 1
             : 0;
}

// For the hook: gives CUPTI to a profiler the program is about to start, and takes it back. 1:
// done.
STALLPROF_EXPORT int stallprof_agent_release(void) {
  return stallprof::agent::releaseCupti() ? 1 : 0;
}
STALLPROF_EXPORT int stallprof_agent_retake(void) {
  return stallprof::agent::retakeCupti() ? 1 : 0;
}
