// SPDX-License-Identifier: MIT
#include "sampler/processes/process_sampler.h"

#include <unistd.h>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

// One process, 100, sampled once.
struct Sampled {
  explicit Sampled(const Machine& machine) : tree(machine.root(), 100) {
    ProcessSampler sampler(machine.root(), tree);
    tree.sample(s(1), list);
    sampler.sample(s(1), list);
    const auto all = list.all<ProcessUsage>();
    REQUIRE(all.size() == 1);
    usage = all[0];
  }
  EventList list;
  ProcessTree tree;
  ProcessUsage usage;
};
}  // namespace

TEST_CASE("a process's counters are read, and the job's CPU with its dead children") {
  Machine machine;
  machine.process({100, 1, "python3"});
  machine.file("proc/100/io",
               "rchar: 6976\nwchar: 12\nsyscr: 10\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 512\n"
               "cancelled_write_bytes: 0\n");
  machine.file("proc/100/statm", "765 431 403 5 0 123 0\n");
  const Sampled sampled(machine);
  const auto& [list, tree, usage] = sampled;
  CHECK(usage.cpu == Nanos(-1));  // a fixture's pid is not asked of this host's clocks
  CHECK(usage.user == ticks(250));
  CHECK(usage.system == ticks(50));
  CHECK(usage.readChars == 6976);
  CHECK(usage.readCalls == 10);
  CHECK(usage.readBytes == 4096);
  CHECK(usage.writeBytes == 512);
  CHECK(usage.majorFaults == 3);
  CHECK(usage.residentBytes == 431 * ::sysconf(_SC_PAGESIZE));
  CHECK(usage.sharedBytes == 403 * ::sysconf(_SC_PAGESIZE));
  CHECK(usage.threads == 1);
  CHECK(tree.jobCpu() == ticks(300 + 120));
  CHECK(list.source("io").first == Coverage::kFull);
  CHECK(list.source("memory").first == Coverage::kFull);
}

TEST_CASE("what children used that had ended before we came is not the job's") {
  Machine machine;
  machine.process({100, 1, "python3"});
  EventList list;
  ProcessTree tree(machine.root(), 100);
  tree.noneBefore(s(1));
  ProcessSampler sampler(machine.root(), tree);
  tree.sample(s(1), list);
  sampler.sample(s(1), list);
  CHECK(tree.jobCpu() == ticks(300));  // its own figure goes on from there
}

TEST_CASE("what may not be read is unknown, not zero") {
  Machine machine;
  machine.process({100, 1, "python3"});
  const Sampled sampled(machine);
  CHECK(sampled.usage.readChars == -1);
  CHECK(sampled.usage.residentBytes == -1);
  CHECK(sampled.list.source("io").first == Coverage::kAbsent);
  CHECK_FALSE(sampled.list.source("io").second.empty());
}

TEST_CASE("the job's CPU survives the death of a process") {
  Machine machine;
  machine.process({100, 1, "sh"});
  machine.process({101, 100, "python3", 1001});
  EventList list;
  ProcessTree tree(machine.root(), 100);
  ProcessSampler sampler(machine.root(), tree);
  tree.sample(s(1), list);
  sampler.sample(s(1), list);
  const Nanos before = tree.jobCpu();
  machine.end(101);
  tree.sample(s(3), list);
  sampler.sample(s(3), list);
  CHECK(tree.alive() == 1);
  CHECK(tree.jobCpu() == before);
}

TEST_CASE("a process is on the node of the CPU that its first thread ran on last") {
  Machine machine;
  machine.process({100, 1, "python3"});
  machine.file("sys/devices/system/node/online", "0-1\n");
  machine.file("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  machine.file("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  CHECK(Sampled(machine).usage.node == -1);  // a stat file that is cut before the CPU
  machine.file(
      "proc/100/stat",
      "100 (python3) S 1 100 100 0 -1 4194560 11 0 3 0 250 50 100 20 20 0 1 0 1000 1000000 "
      "200 18446744073709551615 1 1 140000 0 0 0 0 0 0 0 0 0 17 6 0 0 0 0 0\n");
  CHECK(Sampled(machine).usage.node == 1);
}

TEST_CASE("nodes of memory alone are no nodes of CPUs") {
  Machine machine;
  CHECK(NumaNodes(machine.root()).count() == -1);
  CHECK(NumaNodes(machine.root()).of(0) == -1);
  machine.file("sys/devices/system/node/online", "0,8,252\n");
  machine.file("sys/devices/system/node/node0/cpulist", "0-79\n");
  machine.file("sys/devices/system/node/node8/cpulist", "80-159\n");
  machine.file("sys/devices/system/node/node252/cpulist", "\n");
  NumaNodes nodes(machine.root());
  CHECK(nodes.count() == 2);
  CHECK(nodes.of(79) == 0);
  CHECK(nodes.of(80) == 8);
  CHECK(nodes.of(160) == -1);
}
