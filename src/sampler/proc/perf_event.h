// SPDX-License-Identifier: MIT
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

namespace stallprof {

// Of one task or (-1) all, on one CPU or (-1) all; not valid: errno says why.
[[nodiscard]] inline Fd openPerfEvent(perf_event_attr attributes, pid_t target, int cpu) {
  attributes.size = sizeof attributes;
  return Fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, target, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace stallprof
