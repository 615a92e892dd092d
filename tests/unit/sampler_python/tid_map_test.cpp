// SPDX-License-Identifier: MIT
#include "sampler/python/tid_map.h"

#include "tests/catch.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

python::TidMap tidsOf100(const Machine& machine) {
  python::TidMap tids;
  tids.read(machine.root(), 100);
  return tids;
}

}  // namespace

TEST_CASE("a process of our pid namespace counts its threads as we do") {
  Machine machine;
  machine.file("proc/100/status", "Name:\tpython3\nNSpid:\t100\nThreads:\t1\n");
  python::TidMap tids = tidsOf100(machine);
  CHECK(tids.same());
  CHECK(tids.hostTid(7) == 7);
}

TEST_CASE("the threads of a process in a pid namespace of its own have our numbers") {
  Machine machine;
  machine.file("proc/100/status", "Name:\tpython3\nNSpid:\t100\t5\nThreads:\t2\n");
  machine.file("proc/100/task/100/status", "Name:\tpython3\nNSpid:\t100\t5\n");
  machine.file("proc/100/task/131/status", "Name:\tpython3\nNSpid:\t131\t9\n");
  python::TidMap tids = tidsOf100(machine);
  CHECK_FALSE(tids.same());
  CHECK(tids.hostTid(5) == 100);
  CHECK(tids.hostTid(9) == 131);
  CHECK(tids.hostTid(131) == 0);
  tids.clear();
  CHECK(tids.hostTid(9) == 0);
}

TEST_CASE("a kernel without NSpid counts as we do") {
  Machine machine;
  machine.file("proc/100/status", "Name:\tpython3\n");
  python::TidMap tids = tidsOf100(machine);
  CHECK(tids.same());
}
