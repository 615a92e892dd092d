// SPDX-License-Identifier: MIT
#include "base/proc_numbers.h"

#include <unistd.h>

#include "tests/catch.h"

using namespace stallprof;

TEST_CASE("a line of a process's status is found by its key") {
  CHECK(statusOf(::getpid(), "Tgid") == std::to_string(::getpid()));
  CHECK(statusOf(::getpid(), "State").size() > 1);
  CHECK(statusOf(::getpid(), "tate").empty());
  CHECK(statusOf(-1, "Tgid").empty());
}
