// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "script.h"

// What the parts of the fake share.
namespace fake {

using Result = int;
using Callback = void (*)(void*, std::uint32_t, std::uint32_t, const void*);
using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr std::uint32_t kVersion = FAKE_CUPTI_VERSION;
constexpr Result kOk = 0, kInvalid = 1, kEnd = 12, kInvalidKind = 21, kMultiple = 39;

[[noreturn]] void die(const char* why);

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
  struct Stuck {
    std::uint8_t* at;
    std::size_t size, used;
  };
  std::vector<Stuck> stuck;
  std::atomic<bool> byForce{false};  // within a flush by force
  std::atomic<long> flushes{0};
  std::atomic<std::size_t> dropped{0};
};
State& state();

inline thread_local bool inRequest = false, inComplete = false, atExitOfCall = false;
inline std::atomic<bool> gaveUp, finalized;
inline std::atomic<int> within;  // threads in a call of CUDA

// What every function does first. Not 0: what the script says it answers.
Result enter(const char* name, bool flushing = false);

std::uint64_t now();  // CUPTI's clock
std::uint64_t inClock(std::uint64_t realtime);

}  // namespace fake
