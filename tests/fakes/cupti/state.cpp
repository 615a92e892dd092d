// SPDX-License-Identifier: MIT
#include "state.h"

#include <time.h>

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

std::uint64_t nsOf(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

std::uint64_t inClock(std::uint64_t realtime) {
  const Script& script = state().script;
  const long flush = state().flushes;
  if (script.since("clock:ticks", flush))
    return 3 * (realtime - (nsOf(CLOCK_REALTIME) - nsOf(CLOCK_MONOTONIC)));
  return script.since("clock:ahead", flush) ? realtime + 3600'000'000'000u : realtime;
}

std::uint64_t now() { return inClock(nsOf(CLOCK_REALTIME)); }

}  // namespace fake
