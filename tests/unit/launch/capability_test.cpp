// SPDX-License-Identifier: MIT
#include "launch/setup/capability.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/catch.h"

using namespace stallprof;
using Catch::Matchers::Contains;

namespace {

const SourceReport& named(const std::vector<SourceReport>& sources, const std::string& name) {
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const auto& source) { return source.name == name; });
  REQUIRE(found != sources.end());
  return *found;
}

}  // namespace

TEST_CASE("a host that permits all is of tier T5 and needs no setting") {
  Probe probe;
  CHECK(hostTier(probe) == "T5");
  CHECK(oneSetting(probe).empty());
}

TEST_CASE("a tier counts only with all tiers below it") {
  Probe probe;
  probe.syscall = EPERM;
  CHECK(hostTier(probe) == "T1");
  probe.io = EACCES;
  CHECK(hostTier(probe) == "T0");
}

TEST_CASE("Debian's paranoid level 3 is named as the one setting") {
  Probe probe;
  probe.perfParanoid = 3;
  probe.taskEvents = probe.userSamples = probe.kernelSamples = probe.systemWide = EACCES;
  CHECK(hostTier(probe) == "T3");
  CHECK_THAT(oneSetting(probe), Contains("perf_event_paranoid=2"));
  CHECK_THAT(oneSetting(probe), Contains("--cap-add=SYS_ADMIN"));  // a container cannot set that
}

TEST_CASE("a filter that refuses perf although the level allows it is distinguished") {
  Probe probe;
  probe.perfParanoid = 2;
  probe.taskEvents = probe.userSamples = EPERM;
  CHECK_THAT(oneSetting(probe), Contains("--cap-add=PERFMON"));
}

TEST_CASE("memory is read through /proc where process_vm_readv is refused") {
  Probe probe;
  probe.processMemory = EPERM;
  CHECK(hostTier(probe) == "T5");
  CHECK(named(describe(probe), "stack_memory").state == Coverage::kFull);
  probe.memoryFile = EACCES;
  probe.yamaScope = 1;
  CHECK(hostTier(probe) == "T2");
  CHECK(named(describe(probe), "stack_memory").state == Coverage::kAbsent);
  CHECK_THAT(oneSetting(probe), Contains("ptrace_scope=0"));
  CHECK_THAT(oneSetting(probe), Contains("--cap-add=SYS_PTRACE"));
}

TEST_CASE("without schedstat it is the kernel that lacks it, not a mount") {
  Probe probe;
  probe.schedstat = ENOENT;
  CHECK_THAT(oneSetting(probe), Contains("CONFIG_SCHED_INFO"));
  probe.stat = ENOENT;
  CHECK_THAT(oneSetting(probe), Contains("/proc"));
  CHECK_THAT(oneSetting(probe), !Contains("CONFIG_SCHED_INFO"));
}

TEST_CASE("Yama's scope 3 is not lowered before a reboot") {
  Probe probe;
  probe.syscall = EPERM;
  probe.yamaScope = 3;
  CHECK_THAT(oneSetting(probe), Contains("booted"));
  CHECK_THAT(oneSetting(probe), !Contains("ptrace_scope=0"));
}

TEST_CASE("the probe of this host sees at least the state of its own processes") {
  const HostView view = probeFromOutside();
  const Probe& probe = view.probe;
  CHECK(probe.stat == 0);
  CHECK(probe.perfParanoid >= -1);
  CHECK(named(view.sources, "thread_state").state == Coverage::kFull);
  CHECK(named(view.sources, "stack_memory").why.size() > 0);
  CHECK(probe.root == (::geteuid() == 0));
}

TEST_CASE("doctor reports the GPU and the agent, there or not") {
  const auto sources = gpuSources();
  CHECK_FALSE(named(sources, "nvml").why.empty());
  CHECK_FALSE(named(sources, "agent").why.empty());
}

TEST_CASE("a line without its parts is no source") {
  const auto sources = sourcesFrom("nvml\t2\tone device\nhalf\t1\n\n");
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].state == Coverage::kFull);
  CHECK(sources[0].why == "one device");
}
