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

}  // namespace

Nanos now() { return read(CLOCK_MONOTONIC); }
Nanos realtimeNow() { return read(CLOCK_REALTIME); }
Nanos boottimeNow() { return read(CLOCK_BOOTTIME); }
Nanos processCpu() { return read(CLOCK_PROCESS_CPUTIME_ID); }

Nanos cpuOf(pid_t pid) {
  clockid_t clock{};
  timespec t{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &t) != 0) return Nanos(-1);
  return std::chrono::seconds(t.tv_sec) + Nanos(t.tv_nsec);
}

}  // namespace stallprof
