// SPDX-License-Identifier: MIT
//
// The entry points: what the driver, NVTX and the hook call. Nothing runs before one of them does,
// and whatever they return, the job goes on as it would have.
#include <pthread.h>
#include <stdlib.h>

#include "agent/cupti/agent.h"
#include "agent/cupti/caller.h"
#include "agent/cupti/callers.h"
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

void publishNoEnd() {
  if (agent.on != 0 && onlyInWindows() && agent.memory.area->state == STALLPROF_AGENT_TRACING)
    publishWhy(STALLPROF_AGENT_TRACING, 0, "a window could not end: all is recorded from then on");
}

bool onlyInWindows() { return agent.memory.header->in_windows != 0 && !agent.continuous; }

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
  turnDue() = 0;
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
  // Switched off and still there CUPTI costs nearly as much (reports/gpu_cost.md).
  agent.leaves = agent.cupti.finalize != nullptr && agent.cupti.driverGetVersion != nullptr;
  agent.continuous = !agent.leaves || (on != nullptr && (atoi(on) & 8) != 0);
}

// CUPTI comes at once, as it may not beside other threads that use CUDA, and costs nothing that was
// measured until something is recorded (reports/gpu.md). Which threads do, its callbacks say.
void startWaiting() {
  if (!agent.leaves) {
    agent.off = true;
    return publishWhy(STALLPROF_AGENT_REFUSED, 0,
                      "CUPTI before 12.6 cannot leave between windows: run --gpu records all");
  }
  publishOn(*agent.memory.area, 0);
  agent.waits = attach(0);
  turnDue() = agent.waits ? 1 : 0;
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
  if (agent.memory.header->in_windows != 0 && !(agent.continuous && agent.leaves))
    startWaiting();
  else
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
  if (agent.memory.area == nullptr || agent.off || (agent.kept && !agent.attached)) return false;
  if (onlyInWindows()) return false;  // torch's profiler stays subscribed: none would end
  startCaller();
  return ask(Order::kRetake, 5 * kOneSecond);
}

// A program that has a graph crashes when CUPTI is switched, or comes (13.0.85 on an H200): it
// stays as it is.
bool keepAsItIs() {
  if (agent.memory.area == nullptr || agent.off) return false;
  const bool first = !agent.kept.exchange(true);
  if (first && (agent.paused || (agent.waits && agent.attached)))
    publishWhy(STALLPROF_AGENT_YIELDED, 0,
               "the program captured CUDA graphs outside of a window: there is none from then on");
  else if (first)
    publishNoEnd();
  turnDue() = 0;
  return agent.attached;
}

// Until then a program compiles and captures its graphs.
bool isWarm() {
  constexpr std::uint32_t kUpdates = 20;
  constexpr std::uint64_t kTime = 5 * kOneSecond;
  static std::atomic<std::uint32_t> updates;
  static std::atomic<std::uint64_t> first;
  std::uint64_t none = 0;
  const std::uint64_t now = monotonicNs();
  first.compare_exchange_strong(none, now);
  return updates.fetch_add(1) >= kUpdates && now - first >= kTime;
}

// Where it cannot be done now, the next tick asks for it again.
bool turnWindow() {
  if (agent.memory.area == nullptr || agent.off || turnDue() == 0) return false;
  if (agent.waits && !isWarm()) return false;
  const DriverSynchronize synchronize = agent.cupti.driverSynchronize;
  const std::uint32_t turner = innerThreadId();
  agent.turner = turner;
  const bool others = othersCall(turner);
  const bool turned = !agent.kept && (agent.hearing || !others) && synchronize != nullptr &&
                      synchronize() == 0 && ask(Order::kTurn, 5 * kOneSecond);
  if (!turned) turnDue() = 0;
  if (others) publishNoEnd();
  return turned;
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

// For the hook: the calling thread is about to capture a graph. 1: all is recorded from here on.
STALLPROF_EXPORT int stallprof_agent_keep(void) { return stallprof::agent::keepAsItIs() ? 1 : 0; }

// For the hook: gives CUPTI to a profiler the program is about to start, and takes it back. 1:
// done.
STALLPROF_EXPORT int stallprof_agent_release(void) {
  return stallprof::agent::releaseCupti() ? 1 : 0;
}
STALLPROF_EXPORT int stallprof_agent_retake(void) {
  return stallprof::agent::retakeCupti() ? 1 : 0;
}
