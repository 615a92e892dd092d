// SPDX-License-Identifier: MIT
#include "launch/process/background.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/catch.h"

TEST_CASE("the recorder has the priority of who started it, in the usual policy") {
  const int started = GENERATE(SCHED_OTHER, SCHED_FIFO, SCHED_RR);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const sched_param lowest{::sched_get_priority_min(started)};
    ::sched_setscheduler(0, started, &lowest);  // where that is permitted
    errno = 0;
    const int before = ::getpriority(PRIO_PROCESS, 0);
    stallprof::becomeBackground();
    const int now = ::getpriority(PRIO_PROCESS, 0);
    ::_exit(errno == 0 && now == before && ::sched_getscheduler(0) == SCHED_OTHER ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
