// SPDX-License-Identifier: MIT
#include "launch/process/background.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace stallprof {

void becomeBackground() {
  ::prctl(PR_SET_NAME, "stallprof-rec");
  ::umask(077);  // the log is as private as the recording
  const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  const sched_param usual{};
  if (policy == SCHED_FIFO || policy == SCHED_RR) ::sched_setscheduler(0, SCHED_OTHER, &usual);
  ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 5);  // this thread only
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace stallprof
