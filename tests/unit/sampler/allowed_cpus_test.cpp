// SPDX-License-Identifier: MIT
#include "sampler/host/allowed_cpus.h"

#include <sched.h>
#include <unistd.h>

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

// /proc/stat of four CPUs: their busy and stolen ticks.
std::string statOf(std::initializer_list<std::pair<int, int>> cpus) {
  std::string text = "cpu  1 1 1 1 1 1 1 1 0 0\n";
  int number = 0;
  for (const auto& [busy, stolen] : cpus)
    text += "cpu" + std::to_string(number++) + " " + std::to_string(busy) + " 0 0 9 9 0 0 " +
            std::to_string(stolen) + " 0 0\n";
  return text + "intr 5 0 0\n";
}

std::vector<LiveProcess> processOf(std::uint32_t pid) {
  LiveProcess process;
  process.pid = pid;
  LiveThread thread;
  thread.tid = pid;
  process.threads.push_back(thread);
  return {process};
}

}  // namespace

TEST_CASE("lists of CPUs are read, whatever they hold") {
  CHECK(parseCpuList("0-3,8-11").count() == 8);
  CHECK(parseCpuList("5").test(5));
  CHECK(parseCpuList("").none());
  CHECK(parseCpuList("x,7-,3-1,9").count() == 1);
  CHECK(parseCpuList("0-99999999").count() == kMaxCpus);
  CHECK(allowedInStatus("Name:\tx\nCpus_allowed_list:\t2,4\n").count() == 2);
}

TEST_CASE("only what is done on the CPUs that the job may use is counted, since the first row") {
  Machine machine;
  machine.file("proc/7/status", "Cpus_allowed_list:\t1-2\n");
  machine.file("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n");
  machine.file("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
  AllowedCpus cpus(machine.root());
  cpus.update(processOf(7), statOf({{100, 0}, {100, 0}, {100, 5}, {100, 0}}));
  cpus.update(processOf(7), statOf({{110, 0}, {120, 0}, {140, 12}, {180, 0}}));
  HostUsage usage;
  cpus.fill(usage);
  CHECK(usage.allowedCpus == 2);
  CHECK(usage.allowedBusy == ticks(20 + 40));
  CHECK(usage.allowedSteal == ticks(7));
  CHECK(usage.besideBusy == ticks(10 + 80));
  CHECK(usage.allowedCores == 2);
}

TEST_CASE("the wider affinity of a launcher that uses no CPU does not widen the job's") {
  Machine machine;
  const auto statusOf = [&](int pid, const char* cpus, int userTicks) {
    const std::string folder = "proc/" + std::to_string(pid) + "/";
    machine.file(folder + "status", std::string("Cpus_allowed_list:\t") + cpus + "\n");
    machine.file(folder + "stat", std::to_string(pid) + " (x) S 1 1 1 0 -1 0 0 0 0 0 " +
                                      std::to_string(userTicks) + " 0 0 0 20 0 1 0 5 1 1\n");
  };
  AllowedCpus cpus(machine.root());
  const auto processes = [] {
    auto all = processOf(7);
    all.push_back(processOf(8)[0]);
    all.push_back(processOf(9)[0]);
    return all;
  }();
  const auto allowed = [&] {
    cpus.update(processes, statOf({{0, 0}, {0, 0}, {0, 0}, {0, 0}}));
    HostUsage usage;
    cpus.fill(usage);
    return usage.allowedCpus;
  };
  statusOf(7, "0-3", 1);    // a shell
  statusOf(8, "0-1", 500);  // the training
  statusOf(9, "0-1", 2);
  CHECK(allowed() == 2);
  statusOf(9, "3", 2);  // an idle worker that is pinned elsewhere
  CHECK(allowed() == 3);
  statusOf(9, "0-1", 2);
  statusOf(7, "0-3", 101);  // it uses CPU, too
  CHECK(allowed() == 4);
}

TEST_CASE("hardware threads of one core are one core") {
  Machine machine;
  machine.file("proc/7/status", "Cpus_allowed_list:\t0-2\n");
  for (const char* cpu : {"0", "2"})
    machine.file(std::string("sys/devices/system/cpu/cpu") + cpu + "/topology/thread_siblings_list",
                 "0,2\n");
  const auto cores = [&] {
    AllowedCpus cpus(machine.root());
    cpus.update(processOf(7), statOf({{1, 0}, {1, 0}, {1, 0}}));
    HostUsage usage;
    cpus.fill(usage);
    return usage.allowedCores;
  };
  CHECK(cores() == -1);  // of CPU 1 nothing is said
  machine.file("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n");
  CHECK(cores() == 2);
}

TEST_CASE("CPUs that the job gives up count no more, and the last mask outlives its threads") {
  Machine machine;
  machine.file("proc/7/status", "Cpus_allowed_list:\t0-3\n");
  AllowedCpus cpus(machine.root());
  cpus.update(processOf(7), statOf({{0, 0}, {0, 0}, {0, 0}, {0, 0}}));
  machine.file("proc/7/status", "Cpus_allowed_list:\t0\n");
  cpus.update(processOf(7), statOf({{10, 0}, {10, 0}, {10, 0}, {10, 0}}));
  cpus.update({}, statOf({{15, 0}, {99, 0}, {99, 0}, {99, 0}}));
  HostUsage usage;
  cpus.fill(usage);
  CHECK(usage.allowedCpus == 1);
  CHECK(usage.allowedBusy == ticks(15));
  CHECK(usage.besideBusy == Nanos(-1));
}

TEST_CASE("the affinity of a live thread is what the kernel says") {
  cpu_set_t set;
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  const auto mask = affinityOf(::getpid());
  REQUIRE(mask);
  CHECK(mask->count() == static_cast<std::size_t>(CPU_COUNT(&set)));
  CHECK(!affinityOf(1 << 30));
}

TEST_CASE("CPUs that there is only room for are none that run") {
  Machine machine;
  CHECK(onlineCpus(machine.root()).count() ==
        static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  machine.file("sys/devices/system/cpu/possible", "0-127\n");
  machine.file("sys/devices/system/cpu/online", "0-3,6-7\n");
  CHECK(onlineCpus(machine.root()) == parseCpuList("0-3,6-7"));
}

TEST_CASE("events are opened on the CPUs that are counted, and on those beyond that are allowed") {
  CpuMask beyond;
  for (const std::size_t cpu : {60U, 62U}) beyond.set(cpu);
  CHECK(eventCpus(parseCpuList("0-3"), beyond) == std::vector<int>{0, 1, 2, 3, 60, 62});
  CHECK(eventCpus(parseCpuList("0-1"), CpuMask()) == std::vector<int>{0, 1});
}
