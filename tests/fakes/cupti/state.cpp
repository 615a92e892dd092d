// SPDX-License-Identifier: MIT
#include "state.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace fake {
namespace {

std::atomic<bool> isOver;  // what a library has for the process is gone by now
const struct AtExit {
  ~AtExit() { isOver = true; }
} atExit;

}  // namespace

[[noreturn]] void die(const char* why) {
  std::fprintf(stderr, "fake CUPTI: %s\n", why);
  std::abort();
}

State& state() {
  static auto* s = new State;  // outlives exit handlers
  return *s;
}

Result enter(const char* name, bool flushing) {
  State& s = state();
  if (getpid() != s.owner) die((std::string(name) + " called in a forked child").c_str());
  if (inRequest) die((std::string(name) + " called while a buffer is asked for").c_str());
  if (isOver) die((std::string(name) + " called after the exit handlers").c_str());
  if (gaveUp) die((std::string(name) + " called after CUPTI gave up").c_str());
  if (finalized.exchange(false) && std::string(name) != "Subscribe")
    die((std::string(name) + " called after finalize: it would start CUPTI again").c_str());
  if (flushing && inComplete) die("flush called while a buffer is returned");
  const std::lock_guard lock(s.mutex);
  return s.script.value(std::string("fail:") + name, ++s.calls[name]);
}

namespace {

template <class Clock>
std::uint64_t nsOf() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}
using Realtime = std::chrono::system_clock;
using Monotonic = std::chrono::steady_clock;

// What CLOCK_REALTIME was when CLOCK_MONOTONIC began. Read once, and of many readings the
// narrowest: the thread may lose its CPU between the two clocks.
std::uint64_t monotonicBegan() {
  static const std::uint64_t began = [] {
    std::uint64_t best = 0, narrowest = ~0ull;
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t before = nsOf<Monotonic>(), realtime = nsOf<Realtime>();
      const std::uint64_t width = nsOf<Monotonic>() - before;
      if (width >= narrowest) continue;
      best = realtime - (before + width / 2);
      narrowest = width;
    }
    return best;
  }();
  return began;
}

}  // namespace

std::uint64_t inClock(std::uint64_t realtime) {
  const Script& script = state().script;
  const long flush = state().flushes;
  if (script.since("clock:ticks", flush)) return 3 * (realtime - monotonicBegan());
  return script.since("clock:ahead", flush) ? realtime + 3600'000'000'000u : realtime;
}

std::uint64_t now() { return inClock(nsOf<Realtime>()); }

}  // namespace fake
