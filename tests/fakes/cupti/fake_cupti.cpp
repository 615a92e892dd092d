// SPDX-License-Identifier: MIT
//
// A libcupti without a GPU: what the agent uses of it, with the record sizes of the version it is
// built as (FAKE_CUPTI_VERSION, as cuptiGetVersion() says it). The fake driver tells it of work;
// it writes records into the client's buffers as the real one does, one buffer a thread where that
// is so. It checks the client: unzeroed or foreign buffers, a null buffer before 12.9, any call in
// a forked child, after the exit handlers or after it gave up, graphs traced node by node, and
// calls that are not allowed where they are made end the program with a word.
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <mutex>
#include <set>

#include "fake_cuda.h"
#include "script.h"

namespace fake {
namespace {

using Result = int;
using Callback = void (*)(void*, std::uint32_t, std::uint32_t, const void*);
using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr std::uint32_t kVersion = FAKE_CUPTI_VERSION;
constexpr Result kOk = 0, kInvalid = 1, kEnd = 12, kInvalidKind = 21, kMultiple = 39;

// sizeof of the newest record of each version, by kind; 0: not made here.
std::size_t sizeOf(std::uint32_t kind) {
  const bool v12 = kVersion >= 19, v128 = kVersion >= 26, v13 = kVersion >= 130000;
  switch (kind) {
    case 10:
      return v13 ? 216 : v12 ? 208 : 200;
    case 1:
      return v128 ? 96 : 88;
    case 4:
    case 5:
      return 40;
    case 38:
      return v128 ? 56 : 40;
    case 51:
      return kVersion >= 21 ? 56 : 48;
    case 8:
      return v128 ? 184 : 176;
    default:
      return 0;
  }
}

[[noreturn]] void die(const char* why) {
  std::fprintf(stderr, "fake CUPTI: %s\n", why);
  std::abort();
}

struct Buffer {  // of one thread
  std::mutex mutex;
  std::uint8_t* at = nullptr;
  std::size_t size = 0, used = 0;
};

struct State {
  Script script;
  pid_t owner = getpid();
  std::mutex mutex;  // of what follows
  std::map<std::string, long> calls;
  std::set<std::uint32_t> kinds, runtimeCalls, driverCalls, callbacks;
  std::list<Buffer> buffers;
  Callback callback = nullptr;
  void* user = nullptr;
  Request request = nullptr;
  Complete complete = nullptr;
  bool subscribed = false, zeroed = false, perThread = kVersion >= 130000;
  std::atomic<long> flushes{0};
  std::atomic<std::size_t> dropped{0};
};

State& state() {
  static auto* s = new State;  // outlives exit handlers
  return *s;
}

thread_local bool inRequest = false, inComplete = false;
std::atomic<bool> gaveUp;
std::atomic<bool> isOver;  // what a library has for the process is gone by now
const struct AtExit {
  ~AtExit() { isOver = true; }
} atExit;

// What every function does first. Not 0: what the script says it answers.
Result enter(const char* name, bool flushing = false) {
  State& s = state();
  if (getpid() != s.owner) die((std::string(name) + " called in a forked child").c_str());
  if (inRequest) die((std::string(name) + " called while a buffer is asked for").c_str());
  if (isOver) die((std::string(name) + " called after the exit handlers").c_str());
  if (gaveUp) die((std::string(name) + " called after CUPTI gave up").c_str());
  if (flushing && inComplete) die("flush called while a buffer is given back");
  const std::lock_guard lock(s.mutex);
  return s.script.value(std::string("fail:") + name, ++s.calls[name]);
}

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  const auto ns =
      static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
  const Script& script = state().script;
  const long flush = state().flushes;
  if (script.since("clock:ticks", flush)) return ns * 3;
  return script.since("clock:ahead", flush) ? ns + 3600'000'000'000u : ns;
}

// ---- buffers

Buffer& bufferOfThread() {
  State& s = state();
  thread_local Buffer* mine = nullptr;
  if (s.perThread && mine != nullptr) return *mine;
  const std::lock_guard lock(s.mutex);
  if (!s.perThread && !s.buffers.empty()) return s.buffers.front();
  return *(mine = &s.buffers.emplace_back());
}

void checkZeroed(const Buffer& b) {
  for (std::size_t i = 0; i < b.size; i += 64)
    if (b.at[i] != 0) die("the buffer is not zeroed");
}

void giveBack(Buffer& b) {
  State& s = state();
  std::uint8_t* at = b.at;
  b.at = nullptr;
  if (at == nullptr || s.script.since("steal", s.flushes)) return;
  inComplete = true;
  s.complete(nullptr, 0, at, b.size, b.used);
  inComplete = false;
}

bool haveRoom(Buffer& b, std::size_t bytes) {
  State& s = state();
  if (b.at != nullptr && b.used + bytes > b.size) giveBack(b);
  if (b.at != nullptr) return true;
  std::size_t most = 0;
  b.used = b.size = 0;
  inRequest = true;
  s.request(&b.at, &b.size, &most);
  inRequest = false;
  if (b.at == nullptr && kVersion < 27) die("no buffer, and before 12.9 that is a crash");
  if (b.at == nullptr) return s.dropped.fetch_add(1), false;
  if (reinterpret_cast<std::uintptr_t>(b.at) % 8 != 0 || b.size < 1024) die("a bad buffer");
  if (!s.zeroed) std::memset(b.at, 0, b.size);
  return true;
}

template <class Fill>
void record(std::uint32_t kind, Fill fill) {
  Buffer& b = bufferOfThread();
  const std::lock_guard lock(b.mutex);
  const std::size_t bytes = sizeOf(kind);
  const bool fresh = b.at == nullptr || b.used + bytes > b.size;
  if (!haveRoom(b, bytes)) return;
  // (The buffer of last resort is shared, and never zero: only the client's own are checked.)
  if (fresh && state().zeroed && b.size > 256 * 1024) checkZeroed(b);
  std::uint8_t* at = b.at + b.used;
  b.used += bytes;
  std::memset(at + 4, 0, bytes - 4);
  fill(at);
  std::memcpy(at, &kind, 4);
}

template <class T>
void set(std::uint8_t* at, std::size_t offset, T value) {
  std::memcpy(at + offset, &value, sizeof value);
}

bool isOn(std::uint32_t kind) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.kinds.count(kind) != 0;
}

// ---- what the driver tells

void onContext(int created) {
  State& s = state();
  const std::uint32_t id = created != 0 ? 1 : 2;
  bool wanted;
  {
    const std::lock_guard lock(s.mutex);
    wanted = s.callbacks.count((3u << 16) | id) != 0;
  }
  void* data[3] = {};
  if (wanted) s.callback(s.user, 3, id, data);
}

void onCall(const fake_call* call) {
  State& s = state();
  bool told, kept;
  {
    const std::lock_guard lock(s.mutex);
    told = s.callbacks.count((call->domain << 16) | call->cbid) != 0;
    const std::set<std::uint32_t>& calls = call->domain == 2 ? s.runtimeCalls : s.driverCalls;
    kept = s.kinds.count(call->domain == 2 ? 5 : 4) != 0 || calls.count(call->cbid) != 0;
  }
  for (const std::uint32_t site : {0u, 1u})
    if (told) s.callback(s.user, call->domain, call->cbid, &site);
  if (!kept) return;
  record(call->domain == 2 ? 5 : 4, [&](std::uint8_t* at) {
    set(at, 4, call->cbid);
    set(at, 8, call->start);
    set(at, 16, call->end);
    set(at, 24, static_cast<std::uint32_t>(getpid()));
    set(at, 28, static_cast<std::uint32_t>(syscall(SYS_gettid)));
    set(at, 32, call->correlation);
  });
}

void onKernel(const fake_call* call, const char* name, std::uint64_t start, std::uint64_t end) {
  if (!isOn(10)) return;
  if (state().script.since("invalid", state().flushes)) start = end = 0;
  record(10, [&](std::uint8_t* at) {
    set(at, 16, start);
    set(at, 24, end);
    set(at, 44, 1u);   // context
    set(at, 48, 7u);   // stream
    set(at, 52, 108);  // grid x, y, z and block x, y, z
    set(at, 56, 1);
    set(at, 60, 1);
    set(at, 64, 256);
    set(at, 68, 1);
    set(at, 72, 1);
    set(at, 92, call->correlation);
    set(at, 104, name);
  });
}

void onCopy(const fake_call* call, int kind, int memory, std::uint64_t bytes) {
  if (!isOn(1)) return;
  record(1, [&](std::uint8_t* at) {
    set(at, 4, static_cast<std::uint8_t>(kind));
    set(at, 5, static_cast<std::uint8_t>(kind == 1 ? memory : 3));
    set(at, 6, static_cast<std::uint8_t>(kind == 1 ? 3 : memory));
    set(at, 8, bytes);
    set(at, 16, call->start);
    set(at, 24, call->start + bytes / 20 + 1);  // 20 bytes a ns
    set(at, 36, 1u);
    set(at, 40, 7u);
    set(at, 44, call->correlation);
  });
}

void onSync(const fake_call* call, int type) {
  if (!isOn(38)) return;
  record(38, [&](std::uint8_t* at) {
    set(at, 4, type);
    set(at, 8, call->start);
    set(at, 16, call->end);
    set(at, 24, call->correlation);
    set(at, 28, 1u);
    set(at, 32, 7u);
  });
}

std::uint64_t launchCost() {
  static const auto cost =
      static_cast<std::uint64_t>(state().script.value("cost:kernel", state().flushes));
  return cost != 0 && isOn(10) ? cost : 0;
}

void onGraph(const fake_call* call, std::uint64_t start, std::uint64_t end) {
  if (!isOn(51)) return;
  record(51, [&](std::uint8_t* at) {
    set(at, 4, call->correlation);
    set(at, 8, start);
    set(at, 16, end);
    set(at, 28, 3u);  // graph
    set(at, 32, 1u);
    set(at, 36, 7u);
  });
}

void tellOfDevice() {
  record(8, [](std::uint8_t* at) {
    set(at, 112, 0u);  // id
    for (std::uint8_t i = 0; i < 16; ++i) set(at, 120 + i, i);
    set(at, 136, "NVIDIA Fake 9000");
  });
}

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
  static const fake_tracer tracer{onContext, onCall, onKernel, onCopy, onSync, onGraph, launchCost};
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
    fresh = on ? s.kinds.insert(kind).second : s.kinds.erase(kind) != 0;
  }
  if (on && fresh && kind == 8) tellOfDevice();
  return kOk;
}

[[maybe_unused]] Result setCall(std::set<std::uint32_t> State::*set, std::uint32_t id, bool on) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (id == 0 || id > 900) return kInvalid;
  on ? void((s.*set).insert(id)) : void((s.*set).erase(id));
  return kOk;
}

void tellFatal() {
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
  if (s.script.at("fatal", number)) return tellFatal(), 999;
  if (flag == 0 && s.script.since("busy", number)) return kOk;
  std::list<Buffer*> all;
  {
    const std::lock_guard lock(s.mutex);
    for (Buffer& b : s.buffers) all.push_back(&b);
  }
  for (Buffer* b : all) {
    const std::lock_guard lock(b->mutex);
    giveBack(*b);
  }
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

Result cuptiFinalize() { die("finalize called: it harms the program's own tools"); }

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
