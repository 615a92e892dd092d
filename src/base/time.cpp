// SPDX-License-Identifier: MIT
#include "base/time.h"

#include <ctime>

namespace stallprof {
namespace {

Nanos read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::chrono::seconds(t.tv_sec) + Nanos(t.tv_nsec);
}

std::string textOf(Nanos realtime, const char* format, decltype(::gmtime_r) split) {
  const std::time_t t = std::chrono::duration_cast<std::chrono::seconds>(realtime).count();
  std::tm parts{};
  split(&t, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

Nanos now() { return read(CLOCK_MONOTONIC); }
Nanos realtimeNow() { return read(CLOCK_REALTIME); }
Nanos boottimeNow() { return read(CLOCK_BOOTTIME); }
Nanos processCpu() { return read(CLOCK_PROCESS_CPUTIME_ID); }
Nanos threadCpu() { return read(CLOCK_THREAD_CPUTIME_ID); }

std::string utcText(Nanos realtime, const char* format) {
  return textOf(realtime, format, ::gmtime_r);
}
std::string localText(Nanos realtime, const char* format) {
  return textOf(realtime, format, ::localtime_r);
}

// By the clock that encodes its number: clock_getcpuclockid(3) asks the kernel once more for it.
// Threads that have ended are in it, and anyone may read it.
Nanos cpuOf(pid_t pid) {
  timespec t{};
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2u);
  if (::clock_gettime(clock, &t) != 0) return Nanos(-1);
  return std::chrono::seconds(t.tv_sec) + Nanos(t.tv_nsec);
}

}  // namespace stallprof
