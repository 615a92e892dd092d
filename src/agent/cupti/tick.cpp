// SPDX-License-Identifier: MIT
#include "agent/cupti/tick.h"

#include "agent/cupti/agent.h"
#include "agent/cupti/buffers.h"
#include "agent/cupti/callers.h"
#include "agent/cupti/health.h"
#include "agent/cupti/tracing.h"
#include "agent/cupti/windows.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kShortest = 500'000'000;  // interval that is judged; ticks are 1 s apart

// Of all calls, before the first window; and where no update comes meanwhile.
constexpr std::uint64_t kHeard = 2'000'000'000, kMaxHeard = 10'000'000'000;
constexpr std::uint64_t kOverdue = 60'000'000'000;  // a window that does not end then may never

// CUPTI keeps a buffer until all in it is finished. So many of them for so long wait for what will
// never be: without force the others would run out.
constexpr std::uint64_t kHeld = 2'000'000'000, kHeldLong = 30'000'000'000;
constexpr std::uint32_t kHeldMany = STALLPROF_ACTIVITY_BUFFERS / 4;

std::uint64_t cpuPublished;

// All of these are the caller's alone.
Windows windows;
constinit Health health;
bool yielded;   // somebody took CUPTI without asking: it is theirs until the hook says otherwise
bool presumed;  // or so it seemed, for no buffer came back, or nobody reads: until one does
bool forced;    // what was unfinished at the last tick has no records
std::uint64_t heardSince;
struct Before {
  std::uint64_t at, kernels, calls;
} previous, endDue;  // the second: when the window that is open was to end; 0: it is not

void publishOwnCpu() {
  const std::uint64_t now = threadCpuNs();
  publishCpu(now - cpuPublished);
  cpuPublished = now;
}

bool recorderClosed() {
  return std::atomic_ref<std::uint32_t>(agent.memory.header->closed).load() != 0;
}

Health::Sample checkProcess(const stallprof_clock_pair& pair) {
  std::atomic_ref<std::uint64_t> starved(agent.memory.area->starved);
  return {agent.delivered, agent.heard,   agent.taken,    starved.load(),
          agent.kernels,   agent.invalid, pair.monotonic, pair.device};
}

// Neither flush nor disable: both are the other tool's now. Where nobody reads there is none, but
// disabling is for turns alone.
void yieldTo(const char* why) {
  yielded = true;
  presumed = health.mayComeBack();
  publishOn(*agent.memory.area, 0);
  publishWhy(STALLPROF_AGENT_YIELDED, 0, why);
}

// Whether a buffer has come back: then CUPTI was ours all along, its buffers were of unfinished
// work, or none was free.
bool cameBack() {
  if (!presumed || !health.cameBack(agent.delivered)) return false;
  yielded = presumed = false;
  previous = {monotonicNs(), agent.kernels, agent.calls};
  publishOn(*agent.memory.area, agent.on);
  publishWhy(STALLPROF_AGENT_TRACING, agent.memory.area->error, "");
  return true;
}

// False: nothing more is to be done in this tick, or ever.
bool checkHealth(const stallprof_clock_pair& pair) {
  switch (health.judge(checkProcess(pair))) {
    case Health::Verdict::kYield:
      yieldTo(health.why());
      return false;
    case Health::Verdict::kNoKernels:
      agent.wanted &= ~STALLPROF_ON_KERNELS;
      switchTo(agent.wanted);
      publishWhy(STALLPROF_AGENT_TRACING, 0, health.why());
      return true;
    case Health::Verdict::kWell:
      return true;
  }
  return true;
}

// Beside a profiler of the program that stays subscribed once it was started: only a subscriber can
// have CUPTI leave.
bool cannotLeave() { return agent.attached && agent.subscriber == nullptr; }

// What is requested is done by turn(), when the program says that nothing of it is within CUDA.
void requestWindow() {
  const std::uint64_t now = monotonicNs(), kernels = agent.kernels, calls = agent.calls;
  const Before before = previous;
  previous = {now, kernels, calls};
  if (agent.hearing && (agent.kept || now - heardSince > kMaxHeard)) hearAll(false);
  if (endDue.at != 0 && now - endDue.at > kOverdue) publishNoEnd();
  if (agent.continuous || agent.kept || cannotLeave() || turnDue().load() != 0) return;
  const bool recorded = agent.on != 0;
  const bool record =
      windows.next({recorded, now - before.at, kernels - before.kernels, calls - before.calls});
  if (record != recorded) turnDue() = 1;
  if (record)
    endDue = {};
  else if (recorded && endDue.at == 0)
    endDue = previous;
}

// False: it does not begin, or not yet.
bool beginFirst() {
  const std::uint64_t now = monotonicNs();
  if (!agent.hearing) {
    heardSince = now;
    hearAll(true);
  }
  if (now - heardSince < kHeard) return false;
  hearAll(false);
  if (othersCall(agent.turner)) {
    agent.kept = true;
    return false;
  }
  agent.waits = false;
  health = Health();
  record(agent.wanted);
  return true;
}

void endWindow() {
  if (endDue.at != 0)
    windows.ended({true, monotonicNs() - endDue.at, agent.kernels - endDue.kernels,
                   agent.calls - endDue.calls});
  endDue = {};
  leave();
  if (onlyInWindows() && agent.memory.area->state == STALLPROF_AGENT_TRACING)
    publishWhy(STALLPROF_AGENT_TRACING, agent.memory.area->error, "");
}

// CUPTI stays until a turn, if there is one: it must not be switched beside the program's threads.
void outliveRecorder() {
  if (agent.memory.area->state != STALLPROF_AGENT_ENDED) {
    publishOn(*agent.memory.area, 0);
    publishWhy(STALLPROF_AGENT_ENDED, 0, "the recorder has ended");
  }
  agent.paused = false;
  if (agent.hearing) hearAll(false);
  const bool leaves = agent.attached && !agent.waits && !cannotLeave();
  turnDue() = leaves && !agent.kept && !agent.continuous ? 1 : 0;
}

// What is unfinished gets no record then: nothing counts as traced until the next tick.
void forceHeld() {
  const std::uint64_t now = monotonicNs();
  const Held held = heldBuffers(now - kHeld);
  if (held.count < kHeldMany && now - held.since < kHeldLong) return;
  publishOn(*agent.memory.area, 0);
  flush(kFlushForced);
  forced = true;
}

}  // namespace

void publishCpu(std::uint64_t ns) {
  std::atomic_ref<std::uint64_t>(agent.memory.area->agent_cpu).fetch_add(ns);
}

void tick() {
  if (!(agent.attached || agent.paused) || (yielded && !cameBack())) return;
  if (recorderClosed()) return outliveRecorder();
  if (agent.paused) {
    if (monotonicNs() - previous.at >= kShortest) requestWindow();
    return publishOwnCpu();
  }
  if (forced) publishOn(*agent.memory.area, agent.on);
  forced = false;
  const stallprof_clock_pair pair = flush(0);
  if (agent.off.load()) return;
  // A flush beyond the regular ones says too little of rates.
  if (monotonicNs() - previous.at >= kShortest && checkHealth(pair)) requestWindow();
  if (agent.attached && !yielded && !agent.off.load()) forceHeld();
  publishOwnCpu();
}

void turn() {
  if (turnDue().exchange(0) == 0 || yielded || agent.kept) return;
  if (agent.paused) {
    health = Health();
    forgetCallers();
    attach(agent.wanted);
  } else if (agent.waits) {
    if (!agent.attached || !beginFirst()) return;
  } else if (agent.attached && agent.subscriber != nullptr) {
    flush(0);  // what others called since the last
    if (agent.off || othersCall(agent.turner)) return;
    endWindow();
    if (recorderClosed()) agent.paused = false;
  }
  previous = {monotonicNs(), agent.kernels, agent.calls};
}

void release() {
  if (!agent.attached && !agent.paused) return;
  agent.paused = false;
  turnDue() = 0;
  // The next tool may want to subscribe, unlike the one that took it.
  if (yielded && !health.isUnread()) return letGo();
  yielded = presumed = false;
  detach();
  publishWhy(STALLPROF_AGENT_YIELDED, 0, "released for another profiler of the program");
}

void retake() {
  agent.tookTurns = true;
  if (yielded) detach();
  yielded = presumed = false;
  health = Health();
  previous = {monotonicNs(), agent.kernels, agent.calls};
  agent.paused = false;
  if (!agent.attached) attach(agent.wanted);
  endDue = {};
}

void finish() {
  // Away for another tool or for good, which the area says.
  if (yielded || agent.memory.area->state != STALLPROF_AGENT_TRACING) return;
  if (agent.attached) {
    // Not switched off: threads of the program may be within CUDA, and what is on ends with it.
    publishOn(*agent.memory.area, 0);
    flush(kFlushForced);
  }
  if (agent.off.load()) return;
  publishWhy(STALLPROF_AGENT_ENDED, agent.memory.area->error, agent.memory.area->why);
  publishOwnCpu();
}

}  // namespace stallprof::agent
