// SPDX-License-Identifier: MIT
#include "work.h"

#include <sys/syscall.h>

#include <atomic>

#include "records.h"

namespace fake {
namespace {

void onContext() {
  State& s = state();
  constexpr std::uint32_t kCreated = 1;
  bool wanted;
  {
    const std::lock_guard lock(s.mutex);
    wanted = s.callbacks.count((3u << 16) | kCreated) != 0;
  }
  void* data[3] = {};
  if (wanted) s.callback(s.user, 3, kCreated, data);
}

struct Within {
  Within() { ++within; }
  ~Within() { --within; }
};

std::atomic<long> callbacks;

void onCall(const fake_call* call) {
  const Within here;
  State& s = state();
  bool reported, kept;
  {
    const std::lock_guard lock(s.mutex);
    reported = s.callbacks.count((call->domain << 16) | call->cbid) != 0;
    const std::set<std::uint32_t>& calls = call->domain == 2 ? s.runtimeCalls : s.driverCalls;
    kept = s.kinds.count(call->domain == 2 ? 5 : 4) != 0 || calls.count(call->cbid) != 0;
  }
  for (const std::uint32_t site : {0u, 1u}) {
    atExitOfCall = site == 1;
    if (reported && s.callback != nullptr) s.callback(s.user, call->domain, call->cbid, &site);
  }
  callbacks += reported;
  atExitOfCall = false;
  if (!kept) return;
  record(call->domain == 2 ? 5 : 4, [&](std::uint8_t* at) {
    set(at, 4, call->cbid);
    set(at, 8, inClock(call->start));
    set(at, 16, inClock(call->end));
    set(at, 24, static_cast<std::uint32_t>(getpid()));
    set(at, 28, static_cast<std::uint32_t>(syscall(SYS_gettid)));
    set(at, 32, call->correlation);
  });
}

void onKernel(const fake_call* call, const char* name, std::uint64_t start, std::uint64_t end) {
  if (!isOn(10)) return;
  if (state().script.since("invalid", state().flushes)) start = end = 0;
  record(10, [&](std::uint8_t* at) {
    set(at, 16, start != 0 ? inClock(start) : 0);
    set(at, 24, end != 0 ? inClock(end) : 0);
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
    set(at, 16, inClock(call->start));
    set(at, 24, inClock(call->start + bytes / 20 + 1));  // 20 bytes a ns
    set(at, 36, 1u);
    set(at, 40, 7u);
    set(at, 44, call->correlation);
  });
}

void onSync(const fake_call* call, int type) {
  if (!isOn(38)) return;
  record(38, [&](std::uint8_t* at) {
    set(at, 4, type);
    set(at, 8, inClock(call->start));
    set(at, 16, inClock(call->end));
    set(at, 24, call->correlation);
    set(at, 28, 1u);
    set(at, 32, 7u);
  });
}

void onGraph(const fake_call* call, std::uint64_t start, std::uint64_t end) {
  if (!isOn(51)) return;
  record(51, [&](std::uint8_t* at) {
    set(at, 4, call->correlation);
    set(at, 8, inClock(start));
    set(at, 16, inClock(end));
    set(at, 28, 3u);  // graph
    set(at, 32, 1u);
    set(at, 36, 7u);
  });
}

}  // namespace

const fake_tracer tracer{onContext, onCall, onKernel, onCopy, onSync, onGraph};

void reportDevice() {
  record(8, [](std::uint8_t* at) {
    set(at, 112, 0u);  // id
    for (std::uint8_t i = 0; i < 16; ++i) set(at, 120 + i, i);
    set(at, 136, "NVIDIA Fake 9000");
  });
}

}  // namespace fake

// For tests: of how many calls the program has called back.
extern "C" __attribute__((visibility("default"))) long fakeCuptiCallbacks() {
  return fake::callbacks.load();
}
