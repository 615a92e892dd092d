// SPDX-License-Identifier: MIT
//
// A libcupti without a GPU: what the agent uses of it, with the record sizes of the version it is
// built as (FAKE_CUPTI_VERSION, as cuptiGetVersion() says it). The fake driver reports work to it;
// it writes records into the client's buffers as the real one does, one buffer a thread where that
// is so. It checks the client: unzeroed or foreign buffers, a null buffer before 12.9, any call in
// a forked child, after the exit handlers or after it gave up, graphs traced node by node, and
// calls that are not allowed where they are made end the program with a word.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "records.h"
#include "work.h"

namespace fake {
namespace {

Result subscribe(void** subscriber, Callback callback, void* user) {
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (s.subscribed) return kMultiple;
    s.subscribed = true;
    s.callback = callback;
    s.user = user;
  }
  *subscriber = &s;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 999;
  using Set = void (*)(const fake_tracer*);
  reinterpret_cast<Set>(dlsym(driver, "fakeSetTracer"))(&tracer);
  return kOk;
}

Result setKind(std::uint32_t kind, bool on) {
  State& s = state();
  bool fresh;
  {
    const std::lock_guard lock(s.mutex);
    if (kind == 0 || kind > 51) return kInvalidKind;
    const bool kernels = s.kinds.count(10) != 0, graphs = s.kinds.count(51) != 0;
    if (on ? kind == 10 && !graphs : kind == 51 && kernels)
      die("kernels are on and graph launches off: each node would be traced");
    if (on ? kind == 2 && !kernels : kind == 10 && s.kinds.count(2) != 0)
      die("sets are on and kernels off: some of them would never be finished");
    fresh = on ? s.kinds.insert(kind).second : s.kinds.erase(kind) != 0;
  }
  if (on && fresh && kind == 8) reportDevice();
  return kOk;
}

[[maybe_unused]] Result setCall(std::set<std::uint32_t> State::*set, std::uint32_t id, bool on) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (id == 0 || id > 900) return kInvalid;
  on ? void((s.*set).insert(id)) : void((s.*set).erase(id));
  return kOk;
}

void reportFatal() {
  struct {
    Result result;
    const char* message;
  } data{999, "the script says so"};
  if (state().callback != nullptr) state().callback(state().user, 6, 1, &data);
  gaveUp = true;
}

}  // namespace
}  // namespace fake

// ---- what a client calls

using namespace fake;

#pragma GCC visibility push(default)
extern "C" {

Result cuptiGetVersion(std::uint32_t* version) {
  if (const Result r = enter("GetVersion")) return r;
  return *version = kVersion, kOk;
}

Result cuptiSubscribe(void** subscriber, Callback callback, void* user) {
  if (const Result r = enter("Subscribe")) return r;
  return subscribe(subscriber, callback, user);
}

#if FAKE_CUPTI_VERSION >= 130000
struct SubscriberParams {
  std::size_t size;
  const char* name;
  char* old;
  std::size_t oldSize;
};
Result cuptiSubscribe_v2(void** subscriber, Callback callback, void* user,
                         SubscriberParams* params) {
  const Result r = enter("Subscribe");
  if (r == 0) return subscribe(subscriber, callback, user);
  if (params != nullptr && params->old != nullptr)
    std::snprintf(params->old, params->oldSize, "%s", state().script.text("tool:").c_str());
  return r;
}
#endif

Result cuptiUnsubscribe(void*) {
  if (const Result r = enter("Unsubscribe")) return r;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.subscribed = false;
  s.callbacks.clear();
  return kOk;
}

Result cuptiEnableCallback(std::uint32_t enable, void*, std::uint32_t domain, std::uint32_t id) {
  if (const Result r = enter("EnableCallback")) return r;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  enable != 0 ? void(s.callbacks.insert((domain << 16) | id))
              : void(s.callbacks.erase((domain << 16) | id));
  return kOk;
}

Result cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  if (const Result r = enter("ActivityRegisterCallbacks")) return r;
  state().request = request;
  state().complete = complete;
  return kOk;
}

Result cuptiActivityEnable(std::uint32_t kind) {
  if (const Result r = enter("ActivityEnable")) return r;
  return setKind(kind, true);
}
Result cuptiActivityDisable(std::uint32_t kind) {
  if (const Result r = enter("ActivityDisable")) return r;
  return setKind(kind, false);
}

Result cuptiActivityFlushAll(std::uint32_t flag) {
  if (const Result r = enter("ActivityFlushAll", true)) return r;
  State& s = state();
  const long number = ++s.flushes;
  while (s.script.at("hang:flush", number)) sleep(1000);
  if (s.script.at("stop:flush", number)) raise(SIGSTOP);
  if (s.script.at("fatal", number)) return reportFatal(), 999;
  if (flag == 0 && (s.script.since("busy", number) || s.script.since("stuck", number))) return kOk;
  std::list<Buffer*> all;
  std::vector<State::Stuck> stuck;
  {
    const std::lock_guard lock(s.mutex);
    for (Buffer& b : s.buffers) all.push_back(&b);
    stuck.swap(s.stuck);
  }
  s.byForce = flag != 0;
  for (const State::Stuck& b : stuck) s.complete(nullptr, 0, b.at, b.size, b.used);
  for (Buffer* b : all) {
    const std::lock_guard lock(b->mutex);
    returnBuffer(*b);
  }
  s.byForce = false;
  return kOk;
}

Result cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  std::uint8_t* at = buffer;
  std::uint32_t kind = 0;
  if (*record != nullptr) {
    at = static_cast<std::uint8_t*>(*record);
    std::memcpy(&kind, at, 4);
    at += sizeOf(kind);
  }
  if (at >= buffer + valid) return kEnd;
  std::memcpy(&kind, at, 4);
  if (sizeOf(kind) == 0) return kInvalidKind;
  *record = at;
  return kOk;
}

Result cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  if (const Result r = enter("ActivityGetNumDroppedRecords")) return r;
  return *dropped = state().dropped.exchange(0), kOk;
}

Result cuptiActivitySetAttribute(std::uint32_t attribute, std::size_t* size, void* value) {
  if (const Result r = enter("ActivitySetAttribute")) return r;
  const bool yes = *size == 1 && *static_cast<std::uint8_t*>(value) != 0;
  if (attribute == 5) state().zeroed = yes;
  if (attribute == 9) state().perThread = yes;
  return attribute <= 9 ? kOk : kInvalid;
}

Result cuptiSetThreadIdType(std::uint32_t type) {
  if (const Result r = enter("SetThreadIdType")) return r;
  return type == 1 ? kOk : kInvalid;
}

Result cuptiGetTimestamp(std::uint64_t* at) {
  if (const Result r = enter("GetTimestamp")) return r;
  return *at = now(), kOk;
}

Result cuptiFinalize() {
  if (kVersion < 24) die("finalize called: before 12.6 it crashes programs with CUDA graphs");
  if (within > 1) die("finalize called while another thread is within CUDA");
  if (!atExitOfCall) die("finalize called elsewhere than at the end of a CUDA call");
  if (const Result r = enter("Finalize")) return r;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.subscribed) die("finalize called by one that is not subscribed: it harms other tools");
  for (Buffer& b : s.buffers) {
    if (b.at != nullptr && b.used != 0) die("finalize called while records were not flushed");
    b.at = nullptr;  // what is empty is not returned
    b.size = 0;
  }
  s.subscribed = s.zeroed = false;
  s.perThread = kVersion >= 130000;
  for (auto* set : {&s.kinds, &s.runtimeCalls, &s.driverCalls, &s.callbacks}) set->clear();
  s.callback = nullptr;
  finalized = true;
  return kOk;
}

#if FAKE_CUPTI_VERSION >= 23
Result cuptiActivityEnableRuntimeApi(std::uint32_t id, std::uint8_t on) {
  if (const Result r = enter("ActivityEnableRuntimeApi")) return r;
  return setCall(&State::runtimeCalls, id, on != 0);
}
Result cuptiActivityEnableDriverApi(std::uint32_t id, std::uint8_t on) {
  if (const Result r = enter("ActivityEnableDriverApi")) return r;
  return setCall(&State::driverCalls, id, on != 0);
}
#endif

#if FAKE_CUPTI_VERSION >= 26
Result cuptiActivityEnableAllSyncRecords(std::uint8_t) {
  return enter("ActivityEnableAllSyncRecords");
}
#endif

}  // extern "C"
#pragma GCC visibility pop
