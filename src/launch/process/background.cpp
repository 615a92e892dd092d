// SPDX-License-Identifier: MIT
#include "launch/process/background.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace stallprof {
namespace {

constexpr std::uint64_t kSliceNs = 100'000;  // the shortest that Linux grants (kernel/sched)

// struct sched_attr, version 0 (linux/sched/types.h; in glibc from 2.41).
struct Attributes {
  std::uint32_t size = 48, policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};
static_assert(sizeof(Attributes) == 48);

// From Linux 6.12 the earliest deadline runs first, and a deadline is a slice away. Older kernels
// pass over the slice; one that is refused stays the usual one. Of this thread only.
void askForShortSlice(int policy) {
  Attributes attributes;
  attributes.policy = static_cast<std::uint32_t>(policy);
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime = kSliceNs;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

void becomeBackground() {
  ::prctl(PR_SET_NAME, "stallprof-rec");
  ::umask(077);  // the log is as private as the recording
  int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  const sched_param usual{};
  if (policy == SCHED_FIFO || policy == SCHED_RR) {
    policy = SCHED_OTHER;
    ::sched_setscheduler(0, policy, &usual);
  }
  askForShortSlice(policy);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace stallprof
