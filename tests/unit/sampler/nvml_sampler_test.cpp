// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_sampler.h"

#include <unistd.h>

#include <functional>

#include "tests/catch.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"
#include "tests/unit/sampler/nvml_fake.h"

using namespace stallprof;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

namespace {

// The environment names the library, as for a user of another place than the usual ones.
struct Named {
  explicit Named(const std::string& library) {
    ::setenv(nvml::kLibraryVariable, library.c_str(), 1);
  }
  ~Named() { ::unsetenv(nvml::kLibraryVariable); }
};

// Samples with a clock ahead of the host's until `enough` says so. False: it never did.
bool sampleUntil(NvmlSampler& sampler, EventList& list, const std::function<bool()>& enough) {
  const Nanos begin = now();
  for (int i = 0; i < 2000; ++i) {
    sampler.sample(begin + (i < 2 ? i : 1) * 1s, list);
    if (enough()) return true;
    ::usleep(5000);
  }
  return false;
}

}  // namespace

TEST_CASE("where no NVIDIA driver is, nothing is loaded and nothing reported") {
  Machine machine;
  NvmlSampler sampler(machine.root(), nullptr);
  EventList list;
  for (int i = 0; i < 5; ++i) sampler.sample(100s + i * 1s, list);
  sampler.finish(110s, list);
  CHECK(list.events.empty());
  const auto sources = nvmlSources(machine.root(), 1s);
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].state == Coverage::kAbsent);
  CHECK(sources[0].why == "no NVIDIA driver here");
}

TEST_CASE("a device file makes the library wanted") {
  Machine machine;
  CHECK(nvmlLibraries(machine.root()).empty());
  machine.file("dev/nvidiactl", "");
  CHECK(nvmlLibraries(machine.root()).size() == 3);
}

TEST_CASE("the library is not loaded before the command has begun") {
  FakeNvml fake(hopper());
  const Named named(FakeNvml::library());
  NvmlSampler sampler("/", nullptr);
  EventList list;
  sampler.sample(100s, list);
  ::usleep(50'000);
  sampler.sample(100s + Nanos(1), list);
  CHECK(list.events.empty());
}

namespace {

// Until `done`, with the job's processes known.
bool sampleWith(const Machine& machine, ProcessTree& tree, EventList& list,
                const std::function<bool()>& done) {
  tree.sample(now(), list);
  NvmlSampler sampler(machine.root(), &tree);
  return sampleUntil(sampler, list, done);
}

}  // namespace

TEST_CASE("devices, their use and their processes become events, the job's by identity") {
  Machine machine;
  machine.process({.pid = 42});
  machine.link("proc/self/ns/pid", "pid:[4026531836]");
  machine.file("sys/bus/pci/devices/0000:65:00.0/numa_node", "1\n");
  FakeNvml fake(hopper() + "value pci_bus 101\nprocess 42 1048576\nprocess 77 4096\n");
  const Named named(FakeNvml::library());
  EventList list;
  ProcessTree tree(machine.root(), 42);
  REQUIRE(sampleWith(machine, tree, list, [&] { return list.all<DeviceUsage>().size() >= 2; }));

  const auto device = list.only<DeviceSeen>();
  CHECK(list.text(device.device) == "GPU-a");
  CHECK(list.text(device.name) == "NVIDIA H100 80GB HBM3");
  CHECK(device.process.none());
  CHECK(device.node == 1);
  CHECK(list.all<DeviceUsage>()[0].device == device.device);
  CHECK(list.all<DeviceUsage>()[0].clockMhz == 1755);
  const auto processes = list.all<DeviceProcess>();
  REQUIRE(processes.size() >= 2);
  CHECK(processes[0].process == tree.processes()[0].id);
  CHECK(processes[0].memoryBytes == 1048576);
  CHECK(processes[1].process.none());
  CHECK(processes[1].pid == 77);
  CHECK(list.source("nvml").first == Coverage::kFull);
}

TEST_CASE("in a pid namespace a number is only believed of a process that has the device open") {
  Machine machine;
  machine.process({.pid = 42});
  machine.link("proc/self/ns/pid", "pid:[4026532501]");
  machine.link("proc/42/fd/0", "/dev/null");
  const bool opens = GENERATE(false, true);
  if (opens) machine.link("proc/42/fd/7", "/dev/nvidia0");
  FakeNvml fake(hopper() + "process 42 1048576\n");
  const Named named(FakeNvml::library());
  EventList list;
  ProcessTree tree(machine.root(), 42);
  REQUIRE(sampleWith(machine, tree, list, [&] { return !list.all<DeviceProcess>().empty(); }));
  CHECK(list.all<DeviceProcess>()[0].process.none() == !opens);
}

TEST_CASE("a driver that hangs holds up nobody, and is reported") {
  FakeNvml fake("hang nvmlInit_v2 2\n");
  const Named named(FakeNvml::library());
  EventList list;
  const Nanos begin = now();
  {
    NvmlSampler sampler("/", nullptr);
    sampler.sample(begin, list);
    sampler.sample(begin + 1s, list);  // starts it
    ::usleep(100'000);
    sampler.sample(begin + 2s, list);
    CHECK(list.events.empty());
    sampler.sample(begin + 40s, list);
    CHECK(list.source("nvml").first == Coverage::kAbsent);
    CHECK_THAT(list.source("nvml").second, Contains("did not answer for 39 s"));
    sampler.sample(begin + 41s, list);
    CHECK(list.all<SourceState>().size() == 1);
    sampler.finish(begin + 42s, list);
  }
  // The script still says 2 s: whoever had waited for the thread would be here later.
  const auto sources = nvmlSources("/", 1ms);
  REQUIRE(sources.size() == 1);
  CHECK_THAT(sources[0].why, Contains("did not answer within"));
  fake.say("");
}
