// SPDX-License-Identifier: MIT
#include "agent/cupti/tracing.h"

#include "agent/cupti/agent.h"
#include "agent/cupti/buffers.h"
#include "agent/cupti/caller.h"
#include "agent/cupti/callers.h"
#include "agent/cupti/calls.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

constexpr std::uint32_t kAlways[] = {cupti::kDevice, cupti::kOverhead};
constexpr std::uint32_t kCopies[] = {cupti::kMemcpy, cupti::kMemcpy2, cupti::kSynchronization};
// A whole graph launch has one record; a record for each of its kernels would cost as they do, and
// exhausts CUPTI's device memory within hours. On before kernels, and off after them: without it
// graphs are traced that way.
// Sets are on with kernels alone: recorded without them, some are never finished, and all that
// their thread launches afterwards waits behind them (CUPTI 13.0.85 on an H200).
constexpr std::uint32_t kKernels[] = {cupti::kGraphTrace, cupti::kConcurrentKernel, cupti::kMemset};

CuptiResult noKernels = kCuptiSuccess;  // why CUPTI does not record them, if it does not

// Enabled in their order, disabled in the reverse.
template <std::size_t N>
void setKinds(const std::uint32_t (&kinds)[N], bool enable) {
  const Cupti& c = agent.cupti;
  for (std::size_t i = 0; i < N; ++i) {
    if (agent.off.load()) return;  // CUPTI gave up, at the call before
    const CuptiResult result = enable ? c.enable(kinds[i]) : c.disable(kinds[N - 1 - i]);
    if (result != kCuptiSuccess) agent.memory.area->error = result;
    if (enable && kinds[i] == cupti::kConcurrentKernel) noKernels = result;
  }
}

template <std::size_t N>
void setCalls(EnableApi set, const std::uint16_t (&calls)[N], bool enable) {
  for (const std::uint16_t call : calls) {
    if (agent.off.load()) return;
    set(call, enable ? 1 : 0);  // some are not in every CUPTI
  }
}

void setApis(bool enable) {
  const Cupti& c = agent.cupti;
  if (c.enableRuntimeApi == nullptr || c.enableDriverApi == nullptr) {  // before 12.5
    constexpr std::uint32_t kind[] = {cupti::kRuntime};
    return setKinds(kind, enable);
  }
  setCalls(c.enableRuntimeApi, kRuntimeCalls, enable);
  setCalls(c.enableDriverApi, kDriverCalls, enable);
}

void enableAll(std::uint32_t mask) {
  if ((mask & STALLPROF_ON_COPIES) != 0) setKinds(kCopies, true);
  if ((mask & STALLPROF_ON_KERNELS) != 0) setKinds(kKernels, true);
  if ((mask & STALLPROF_ON_CALLS) != 0) setApis(true);
}

void disableAll(std::uint32_t mask) {
  if ((mask & STALLPROF_ON_CALLS) != 0) setApis(false);
  if ((mask & STALLPROF_ON_KERNELS) != 0) setKinds(kKernels, false);
  if ((mask & STALLPROF_ON_COPIES) != 0) setKinds(kCopies, false);
}

void setAttribute(std::uint32_t attribute) {
  std::uint8_t yes = 1;
  std::size_t size = sizeof yes;
  agent.cupti.setAttribute(attribute, &size, &yes);  // one that a version lacks does no harm
}

void setAttributes() {
  const std::uint32_t version = agent.cupti.version;
  setAttribute(kAttributeZeroedBuffers);
  // One buffer for each thread is the way of 13; before 12.8 flushing them was not thread-safe.
  if (version >= cupti::k12_8 && version < cupti::k13_0) setAttribute(kAttributePerThreadBuffer);
  // Long runs with graphs crashed with device buffers in device memory (12.0 to 13.0.0).
  if (version < cupti::k13_0) setAttribute(kAttributeHostPinned);
}

void onState(std::uint32_t id, const void* data) {
  const auto* state = static_cast<const StateData*>(data);
  agent.memory.area->error = state->result;
  if (id != kStateFatalError) return;
  agent.off = true;  // CUPTI has finalized itself: another call would start it again
  publishOn(*agent.memory.area, 0);
  publishWhy(STALLPROF_AGENT_REFUSED, state->result,
             "CUPTI gave up: ", state->message != nullptr ? state->message : "");
}

std::atomic<bool> finalizing;  // while the agent makes a call, at whose end CUPTI is to leave

void onContext() {
  const stallprof_activity_area& area = *agent.memory.area;
  if (agent.waits && area.state == STALLPROF_AGENT_TRACING && area.why[0] == 0)
    publishWhy(STALLPROF_AGENT_TRACING, 0, kNoWindow);
  startCaller();
}

bool isHeard(std::uint32_t id) {
  for (const std::uint32_t call : kHeardCalls)
    if (call == id) return true;
  return false;
}

void onCallback(void*, std::uint32_t domain, std::uint32_t id, const void* data) {
  if (agent.off.load(std::memory_order_relaxed)) return;
  if (domain == kDomainState) return onState(id, data);
  if (domain == kDomainResource && id == kResourceContextCreated) return onContext();
  if (domain != kDomainRuntime && domain != kDomainDriver) return;
  // On entry, too: a first call may be a long one.
  if (agent.waits.load(std::memory_order_relaxed)) noteCaller(innerThreadId());
  if (static_cast<const CallbackData*>(data)->site == 0) return;
  if (domain == kDomainDriver) {
    if (id == kDriverDriverGetVersion && finalizing.exchange(false)) agent.cupti.finalize();
    return;
  }
  if (id == kRuntimeDeviceReset) return flushSoon();
  if (agent.on.load(std::memory_order_relaxed) != 0 && isHeard(id))
    agent.heard.fetch_add(1, std::memory_order_relaxed);
}

CuptiResult subscribe(char (&other)[64]) {
  Cupti& c = agent.cupti;
  // From 13.2 on the second form selects the second API altogether, which we do not use.
  if (c.subscribeV2 == nullptr || c.version < cupti::k13_0 || c.version >= cupti::k13_2)
    return c.subscribe(&agent.subscriber, onCallback, nullptr);
  SubscriberParams params{sizeof params, "stallprof", other, sizeof other};
  return c.subscribeV2(&agent.subscriber, onCallback, nullptr, &params);
}

const char* wordsOf(CuptiResult result) {
  switch (result) {
    case kCuptiMultipleSubscribers:
      return "another tool has CUPTI in this process";
    case kCuptiInsufficientPrivileges:
      return "no permission to trace this GPU";
    case kCuptiNotInitialized:
      return "the driver is too old for this libcupti";
    case 33:
    case 40:
      return "CUPTI does not work on this virtual GPU";
    case 41:
      return "CUPTI does not work under confidential computing";
    default:
      return "CUPTI refused to start";
  }
}

bool refuse(CuptiResult result, const char* other) {
  publishWhy(STALLPROF_AGENT_REFUSED, result, wordsOf(result), other);
  return false;
}

void enableCallbacks() {
  const Cupti& c = agent.cupti;
  c.enableCallback(1, agent.subscriber, kDomainState, kStateFatalError);
  c.enableCallback(1, agent.subscriber, kDomainState, kStateError);
  c.enableCallback(1, agent.subscriber, kDomainResource, kResourceContextCreated);
  c.enableCallback(1, agent.subscriber, kDomainRuntime, kRuntimeDeviceReset);
  for (const std::uint32_t call : kHeardCalls)
    c.enableCallback(1, agent.subscriber, kDomainRuntime, call);
}

// CUPTI leaves the process; its next call starts it again. What was once recorded costs every
// launch until then, also where nothing is any more. It is to be done at the end of a CUDA call
// (CUPTI's manual), so one is made.
void finalize() {
  const Cupti& c = agent.cupti;
  finalizing = true;
  c.enableCallback(1, agent.subscriber, kDomainDriver, kDriverDriverGetVersion);
  int version = 0;
  c.driverGetVersion(&version);
  if (finalizing.exchange(false)) c.finalize();  // it was not called back
  takeBack();
  agent.names.forgetPointers(*agent.memory.area);
}

// Of many brackets the narrowest: a preempted one is wide.
stallprof_clock_pair pairClocks() {
  constexpr int kTries = 20;
  stallprof_clock_pair best{0, 0, ~0ull};
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t device = 0;
    const std::uint64_t before = monotonicNs();
    if (agent.cupti.timestamp(&device) != kCuptiSuccess) return {};
    const std::uint64_t width = monotonicNs() - before;
    if (width < best.uncertainty) best = {before + width / 2, device, width};
  }
  publishClock(*agent.memory.area, best);
  return best;
}

}  // namespace

void hearAll(bool all) {
  const auto hear = [](bool on, std::uint32_t domain, std::uint32_t call) {
    if (!agent.off.load()) agent.cupti.enableCallback(on ? 1 : 0, agent.subscriber, domain, call);
  };
  agent.hearing = all;
  for (const std::uint32_t call : kRuntimeCalls) hear(all || isHeard(call), kDomainRuntime, call);
  for (const std::uint32_t call : kDriverCalls) hear(all, kDomainDriver, call);
}

bool attach(std::uint32_t on) {
  const Cupti& c = agent.cupti;
  char other[64] = "";
  const CuptiResult subscribed = subscribe(other);
  // torch's profiler stays subscribed once it was started. Records need no subscriber, callbacks
  // do.
  const bool recordsAlone = subscribed == kCuptiMultipleSubscribers && agent.tookTurns;
  if (subscribed == kCuptiMultipleSubscribers && agent.paused) {  // it came between two windows
    publishWhy(STALLPROF_AGENT_YIELDED, subscribed, wordsOf(subscribed), other);
    return false;
  }
  if (subscribed != kCuptiSuccess && !recordsAlone) return refuse(subscribed, other);
  if (recordsAlone) agent.subscriber = nullptr;
  agent.attached = true;
  const bool again = agent.paused.exchange(false) || agent.tookTurns;
  if (c.setThreadIdType != nullptr) c.setThreadIdType(kThreadIdOfSystem);
  setAttributes();
  const CuptiResult registered = c.registerCallbacks(requestBuffer, completeBuffer);
  if (registered != kCuptiSuccess) {
    detach();
    return refuse(registered, "");
  }
  if (c.version >= cupti::k12_8 && c.enableAllSyncRecords != nullptr) c.enableAllSyncRecords(0);
  if (agent.subscriber != nullptr) enableCallbacks();
  setKinds(kAlways, true);
  if (again) pairClocks();  // the last is old, and another tool may have set another clock
  record(on);
  return true;
}

void record(std::uint32_t on) {
  switchTo(on);
  publishWhy(STALLPROF_AGENT_TRACING, agent.memory.area->error,
             noKernels == kCuptiSuccess ? "" : "CUPTI does not record kernels here");
}

namespace {

void stopRecording() {
  switchTo(0);
  setKinds(kAlways, false);
  flush(0);
  // A buffer that stays with CUPTI goes to the next tool, which does not know it (torch's profiler
  // then writes an error for each). Without one of ours nothing is forced: it may be the next's.
  if (!agent.off.load() && heldBuffers(monotonicNs()).count != 0) flush(kFlushForced);
}

}  // namespace

void detach() {
  if (!agent.attached) return;
  stopRecording();
  letGo();
}

void leave() {
  stopRecording();
  if (!agent.off.load()) {
    finalize();
    agent.subscriber = nullptr;
  }
  letGo();
  agent.paused = true;
}

void letGo() {
  if (!agent.off.load() && agent.subscriber != nullptr) agent.cupti.unsubscribe(agent.subscriber);
  agent.subscriber = nullptr;
  agent.attached = false;
  agent.on = 0;
}

void switchTo(std::uint32_t on) {
  const std::uint32_t before = agent.on.load();
  if (before == on) return;
  stallprof_activity_area& area = *agent.memory.area;
  if ((before & ~on) != 0) publishOn(area, before & on);
  disableAll(before & ~on);
  enableAll(on & ~before);
  if (agent.off.load()) return;  // nothing is on, and that is said
  if (noKernels != kCuptiSuccess) on &= ~STALLPROF_ON_KERNELS;
  agent.on = on;
  if ((on & ~before) != 0) publishOn(area, on);
}

namespace {

// A flush leaves CUPTI the buffers in which work is unfinished, or is not yet known to be finished:
// what began before the oldest of them was taken is all in the area.
void publishFlushed(std::uint64_t until) {
  std::atomic_ref<std::uint64_t> flushed(agent.memory.area->flushed);
  if (until > flushed.load()) flushed.store(until, std::memory_order_release);
}

}  // namespace

stallprof_clock_pair flush(std::uint32_t flag) {
  const std::uint64_t began = monotonicNs();
  const CuptiResult result = agent.cupti.flushAll(flag);
  if (agent.off.load()) return {};
  countDropped();  // also where no buffer was left to return
  if (result != kCuptiSuccess) agent.memory.area->error = result;
  const stallprof_clock_pair pair = pairClocks();
  if (result == kCuptiSuccess) publishFlushed(heldBuffers(began).since);
  return pair;
}

}  // namespace stallprof::agent
