// SPDX-License-Identifier: MIT
#include "sampler/proc/cgroup.h"

#include <unistd.h>

#include "sampler/host/cgroup_sampler.h"
#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

void v2Mount(Machine& machine) {
  machine.file("proc/7/mountinfo", "30 22 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  machine.file("proc/7/status", "Name:\tpython3\nCpus_allowed_list:\t0-3,8-11\n");
}

CgroupUsage usageOf(const Machine& machine) {
  KeptFiles files(8);
  return readCgroups(findCgroups(machine.root(), 7), files);
}

}  // namespace

TEST_CASE("v2: quota and memory limit are the tightest along the path") {
  Machine machine;
  v2Mount(machine);
  machine.file("proc/7/cgroup", "0::/jobs/mine\n");
  const std::string top = "sys/fs/cgroup/";
  machine.file(top + "cpu.stat", "usage_usec 1\n");
  machine.file(top + "memory.stat", "file 1\n");
  machine.file(top + "jobs/cpu.max", "250000 100000\n");
  machine.file(top + "jobs/cpu.stat",
               "usage_usec 1\nnr_periods 50\nnr_throttled 20\nthrottled_usec 1500\n");
  machine.file(top + "jobs/memory.max", "max\n");
  machine.file(top + "jobs/mine/cpu.max", "max 100000\n");
  machine.file(top + "jobs/mine/cpu.stat",
               "usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  machine.file(top + "jobs/mine/memory.max", "4294967296\n");
  machine.file(top + "jobs/mine/memory.current", "1048576\n");
  machine.file(top + "jobs/mine/memory.stat", "anon 5\nfile 5096\nshmem 1000\nfile_mapped 7\n");
  machine.file(top + "jobs/mine/memory.events", "low 0\noom 1\noom_kill 2\n");

  const CgroupUsage usage = usageOf(machine);
  CHECK(usage.version == 2);
  CHECK(usage.cpuQuotaMilli == 2500);
  CHECK(usage.periods == 50);
  CHECK(usage.throttledPeriods == 20);
  CHECK(usage.throttled == std::chrono::microseconds(1500));
  CHECK(usage.memoryLimit == 4294967296);
  CHECK(usage.memoryBytes == 1048576);
  CHECK(usage.memoryFile == 4096);
  CHECK(usage.oomKills == 2);
  CHECK(usableCores(machine.root(), 7) == 2.5);
}

TEST_CASE("v2: no limits anywhere leaves the affinity") {
  Machine machine;
  v2Mount(machine);
  machine.file("proc/7/cgroup", "0::/\n");
  machine.file("sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
  const CgroupUsage usage = usageOf(machine);
  CHECK(usage.cpuQuotaMilli == -1);
  CHECK(usage.memoryLimit == -1);
  CHECK(usage.periods == -1);
  CHECK(usableCores(machine.root(), 7) == 8);
}

TEST_CASE("v2 in a container: a path outside its own root is cut to the mount") {
  Machine machine;
  v2Mount(machine);
  machine.file("proc/7/cgroup", "0::/../../other\n");
  machine.file("sys/fs/cgroup/cpu.stat", "usage_usec 1\nnr_periods 3\n");
  machine.file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(usageOf(machine).cpuQuotaMilli == 500);
}

TEST_CASE("a control group's file system may be mounted at a path with a blank") {
  Machine machine;
  machine.file("proc/7/mountinfo", "30 22 0:25 / /sys/own\\040groups rw - cgroup2 cgroup2 rw\n");
  machine.file("proc/7/cgroup", "0::/a\n");
  machine.file("proc/7/status", "Cpus_allowed_list:\t0-3\n");
  machine.file("sys/own groups/a/cpu.stat", "usage_usec 1\nnr_periods 3\n");
  machine.file("sys/own groups/a/cpu.max", "50000 100000\n");
  CHECK(usageOf(machine).cpuQuotaMilli == 500);
}

TEST_CASE("v1: each controller has its own tree; an unlimited figure is no limit") {
  Machine machine;
  machine.file("proc/7/mountinfo",
               "30 22 0:25 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
               "31 22 0:26 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  machine.file("proc/7/cgroup",
               "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n");
  machine.file("proc/7/status", "Cpus_allowed_list:\t0-15\n");
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/";
  const std::pair<std::string, std::string> quotas[] = {
      {"", "-1\n"}, {"docker/", "-1\n"}, {"docker/abc/", "400000\n"}};
  for (const auto& [group, quota] : quotas) {
    machine.file(cpu + group + "cpu.cfs_quota_us", quota);
    machine.file(cpu + group + "cpu.cfs_period_us", "100000\n");
  }
  machine.file(cpu + "docker/abc/cpu.stat",
               "nr_periods 9\nnr_throttled 4\nthrottled_time 123456789\n");
  const std::string memory = "sys/fs/cgroup/memory/";  // shows the container's group as its root
  machine.file(memory + "memory.limit_in_bytes", "9223372036854771712\n");
  machine.file(memory + "memory.usage_in_bytes", "777\n");
  machine.file(memory + "memory.stat", "cache 11\nshmem 1\ntotal_cache 25\ntotal_shmem 3\n");
  machine.file(memory + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");

  const CgroupUsage usage = usageOf(machine);
  CHECK(usage.version == 1);
  CHECK(usage.cpuQuotaMilli == 4000);
  CHECK(usage.throttledPeriods == 4);
  CHECK(usage.throttled == Nanos(123456789));
  CHECK(usage.memoryLimit == -1);
  CHECK(usage.memoryBytes == 777);
  CHECK(usage.memoryFile == 22);
  CHECK(usage.oomKills == 5);
  CHECK(usableCores(machine.root(), 7) == 4);
}

TEST_CASE("hybrid: controllers of v1 count, the empty v2 tree beside them does not") {
  Machine machine;
  machine.file("proc/7/mountinfo",
               "30 22 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
               "31 22 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  machine.file("proc/7/cgroup", "3:cpu:/\n1:name=systemd:/user\n0::/user\n");
  machine.file("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\n");
  machine.file("sys/fs/cgroup/unified/user/cgroup.procs", "7\n");
  const CgroupPaths paths = findCgroups(machine.root(), 7);
  CHECK(paths.version == 1);
  CHECK(paths.cpu.size() == 1);
  CHECK(paths.memory.empty());
  EventList list;
  CgroupSampler sampler(machine.root(), 7, nullptr);
  sampler.sample(Nanos(1), list);
  CHECK(list.source("cgroup").first == Coverage::kPartial);
}

TEST_CASE("of a container that is attached to from outside its own group is read, not the host's") {
  Machine machine;
  v2Mount(machine);
  machine.file("proc/7/cgroup", "0::/system.slice/docker-1.scope\n");
  machine.file("proc/7/mountinfo",
               "30 22 0:25 /system.slice/docker-1.scope /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  machine.link("proc/7/ns/mnt", "mnt:[2]");
  machine.link("proc/self/ns/mnt", "mnt:[1]");
  for (const std::string& view : {std::string(), std::string("proc/7/root/")}) {
    const std::string group = view + "sys/fs/cgroup/";
    machine.file(group + "cpu.stat", "usage_usec 1\n");
    machine.file(group + "memory.stat", "file 1\n");
    machine.file(group + "cpu.max", view.empty() ? "max 100000\n" : "400000 100000\n");
  }
  CHECK(usageOf(machine).cpuQuotaMilli == 4000);
}

TEST_CASE("a process that moves to a group with a quota is followed, and no sum falls") {
  Machine machine;
  v2Mount(machine);
  const std::string top = "sys/fs/cgroup/";
  machine.file(top + "memory.stat", "file 1\n");
  machine.file(top + "cpu.stat",
               "usage_usec 9000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  machine.file(top + "small/cpu.max", "60000 100000\n");
  machine.file(top + "small/cpu.stat",
               "usage_usec 70\nnr_periods 5\nnr_throttled 4\nthrottled_usec 300\n");
  machine.file("proc/7/cgroup", "0::/\n");
  EventList list;
  CgroupSampler sampler(machine.root(), 7, nullptr);
  sampler.sample(Nanos(1), list);
  machine.file("proc/7/cgroup", "0::/small\n");
  sampler.sample(Nanos(2), list);
  machine.file(top + "small/cpu.stat",
               "usage_usec 90\nnr_periods 6\nnr_throttled 5\nthrottled_usec 400\n");
  sampler.sample(Nanos(3), list);
  const auto rows = list.all<CgroupUsage>();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].cpuQuotaMilli == -1);
  CHECK(rows[1].cpuQuotaMilli == 600);
  CHECK(rows[1].cpu == rows[0].cpu);
  CHECK(rows[2].cpu - rows[1].cpu == std::chrono::microseconds(20));
  CHECK(rows[2].throttled - rows[1].throttled == std::chrono::microseconds(100));
}

TEST_CASE("row 10: the group of a command that is gone says that it was killed for memory") {
  Machine machine;
  v2Mount(machine);
  const std::string top = "sys/fs/cgroup/";
  machine.file(top + "memory.stat", "file 1\n");
  machine.file(top + "memory.events", "oom_kill 2\n");
  machine.file("proc/7/cgroup", "0::/\n");
  EventList list;
  CgroupSampler sampler(machine.root(), 7, nullptr);
  sampler.sample(Nanos(1), list);
  machine.file(top + "memory.events", "oom_kill 3\n");
  machine.file("proc/7/cgroup", "");
  sampler.finish(Nanos(2), list);
  const auto rows = list.all<CgroupUsage>();
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].oomKills - rows[0].oomKills == 1);
}

TEST_CASE("no control groups: absent, and the affinity decides") {
  Machine machine;
  machine.file("proc/7/status", "Cpus_allowed_list:\t3\n");
  EventList list;
  CgroupSampler sampler(machine.root(), 7, nullptr);
  sampler.sample(Nanos(1), list);
  CHECK(list.source("cgroup").first == Coverage::kAbsent);
  CHECK(list.all<CgroupUsage>().empty());
  CHECK(usableCores(machine.root(), 7) == 1);
}

TEST_CASE("this machine has at least one usable core and no more than it has") {
  const double cores = usableCores("/", ::getpid());
  CHECK(cores > 0);
  CHECK(cores <= static_cast<double>(::sysconf(_SC_NPROCESSORS_CONF)));
}
