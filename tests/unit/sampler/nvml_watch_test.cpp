// SPDX-License-Identifier: MIT
#include "sampler/nvml/nvml_watch.h"

#include <unistd.h>

#include "tests/catch.h"
#include "tests/unit/sampler/nvml_fake.h"

using namespace stallprof;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

namespace {

// Steps a watch through time that only the test moves; samples cost what the test says.
struct Stepper {
  explicit Stepper(const std::string& library = FakeNvml::library())
      : watch({library}, [this] { return cpu += cost; }) {}

  NvmlFindings step(Nanos further = 200ms) {
    NvmlFindings found;
    at += further;
    next = watch.step(at, found);
    for (const auto& state : found.states)
      (state.source == "nvml" ? nvml : gpm) = {state.coverage, state.why};
    return found;
  }
  // The only sample of a step.
  DeviceUsage one(Nanos further = 200ms) {
    const NvmlFindings found = step(further);
    REQUIRE(found.usages.size() == 1);
    return found.usages[0].usage;
  }

  Nanos at = 100s, next{}, cpu{}, cost{};
  std::pair<Coverage, std::string> nvml{Coverage::kAbsent, "never reported"}, gpm = nvml;
  NvmlWatch watch;
};

}  // namespace

TEST_CASE("a device is announced with its properties, and sampled") {
  FakeNvml fake(hopper());
  Stepper job;
  const NvmlFindings first = job.step();
  REQUIRE(first.devices.size() == 1);
  CHECK(first.devices[0].uuid == "GPU-a");
  CHECK(first.devices[0].name == "NVIDIA H100 80GB HBM3");
  CHECK(first.devices[0].ordinal == 0);
  CHECK(first.devices[0].majorCapability == 9);
  CHECK(first.devices[0].multiprocessors == -1);
  CHECK(first.devices[0].memoryBytes == 85520809984);
  CHECK(job.nvml.first == Coverage::kFull);
  CHECK_THAT(job.nvml.second, Contains("1 device, driver 580.159.03"));
  CHECK(job.gpm.first == Coverage::kAbsent);
  CHECK_THAT(job.gpm.second, Contains("Hopper"));

  REQUIRE(first.usages.size() == 1);
  const DeviceUsage& usage = first.usages[0].usage;
  CHECK(usage.memoryUsed == 1073741824);
  CHECK(usage.memoryTotal == 85520809984);
  CHECK(usage.powerMilliwatts == 690000);
  CHECK(usage.energyMillijoules == 123456);
  CHECK(usage.clockMhz == 1755);
  CHECK(usage.maxClockMhz == 1980);
  CHECK(usage.memoryClockMhz == 2619);
  CHECK(usage.celsius == 61);
  CHECK(usage.throttleReasons == 4);
  CHECK(usage.powerThrottled == Nanos(5700));  // the power limit and the power brake
  CHECK(usage.thermalThrottled == Nanos(34));  // software and hardware; 75 is not added to them
  CHECK(usage.smActiveMilli == -1);
}

TEST_CASE("a device that says little reports the busy share of its last period") {
  FakeNvml fake("device GPU-a Tesla\nvalue gpu 31\nvalue memory 7\nvalue used 5\nvalue total 9\n");
  Stepper job;
  const DeviceUsage usage = job.one();
  CHECK(usage.busyMilli == 310);
  CHECK(usage.memoryBusyMilli == 70);
  CHECK(usage.clockMhz == -1);
  CHECK(usage.powerMilliwatts == -1);
  CHECK(usage.powerThrottled == Nanos(-1));
  CHECK(usage.sentBytes == -1);
}

TEST_CASE("figures that cost milliseconds are asked for every ten seconds, and hold meanwhile") {
  FakeNvml fake(hopper());
  Stepper job;
  CHECK(job.one().energyMillijoules == 123456);
  fake.say(hopper() + "field 83 200000\nfield 271 900\nfield 74 6000\n");
  const DeviceUsage soon = job.one(2s);
  CHECK(soon.energyMillijoules == 123456);
  CHECK(soon.powerThrottled == Nanos(6700));
  const DeviceUsage later = job.one(10s);
  CHECK(later.energyMillijoules == 200000);
  CHECK(later.powerThrottled == Nanos(6900));
}

TEST_CASE("PCIe bytes of 32-bit counters are made cumulative over their end") {
  FakeNvml fake(hopper() + "field 198 4294967290\n");
  Stepper job;
  CHECK(job.one().receivedBytes == 0);
  fake.say(hopper() + "field 198 10\n");
  CHECK(job.one().receivedBytes == 16);
}

TEST_CASE("GPM gives shares and PCIe bytes from its second sample on, twice a second") {
  FakeNvml fake(hopper() + hopperGpm());
  Stepper job;
  CHECK(job.one().smActiveMilli == -1);
  CHECK(job.gpm.first == Coverage::kFull);
  CHECK(job.one().smActiveMilli == -1);
  const DeviceUsage usage = job.one();
  CHECK(usage.smActiveMilli == 883);
  CHECK(usage.occupancyMilli == 405);
  CHECK(usage.tensorMilli == 330);
  CHECK(usage.dramMilli == 123);
  CHECK(usage.sentBytes == 100 * 1048576 * 4 / 10);  // MiB/s over 0.4 s
  CHECK(usage.receivedBytes == 200 * 1048576 * 4 / 10);
  CHECK(job.one().smActiveMilli == -1);
  CHECK(job.one().sentBytes == 100 * 1048576 * 8 / 10);
}

TEST_CASE("a share that no device can have is not reported") {
  FakeNvml fake(hopper() + "gpm 2 nan\ngpm 3 140737488355328\ngpm 5 100.4\n");
  Stepper job;
  job.step();
  job.step();
  const DeviceUsage usage = job.one();
  CHECK(usage.smActiveMilli == -1);
  CHECK(usage.occupancyMilli == -1);
  CHECK(usage.tensorMilli == 1000);
  CHECK(usage.dramMilli == -1);  // not supported
}

TEST_CASE("missing permission for GPM is reported once and tried again slowly") {
  const std::string refused = "code nvmlGpmSampleGet 4\n";
  FakeNvml fake(hopper() + hopperGpm() + refused);
  Stepper job;
  CHECK(job.one().smActiveMilli == -1);
  CHECK(job.gpm.first == Coverage::kAbsent);
  CHECK_THAT(job.gpm.second, Contains("permission"));
  fake.say(hopper() + hopperGpm());
  for (int i = 0; i < 5; ++i) CHECK(job.step(1s).states.empty());
  job.step(31s);
  job.step(1s);
  CHECK(job.one(1s).smActiveMilli == 883);
  CHECK(job.gpm.first == Coverage::kFull);
}

TEST_CASE("what a device refuses for good is asked once") {
  FakeNvml fake(hopper() + "code nvmlDeviceGetTemperature 3\n");
  Stepper job;
  CHECK(job.one().celsius == -1);
  fake.say(hopper());
  CHECK(job.one(60s).celsius == -1);
}

TEST_CASE("eight devices are sampled, and an idle one is reported only when something changed") {
  std::string busy;
  for (int i = 0; i < 7; ++i) busy += hopper("GPU-" + std::to_string(i));
  const std::string idle = "device GPU-7 H100\nvalue gpu 0\nvalue memory 0\nvalue total 9\n";
  FakeNvml fake(busy + idle + "value used 5\n");
  Stepper job;
  const NvmlFindings first = job.step();
  CHECK(first.devices.size() == 8);
  CHECK(first.usages.size() == 8);
  CHECK_THAT(job.nvml.second, Contains("8 devices"));
  CHECK(job.step().usages.size() == 7);
  CHECK(job.step(1s).usages.size() == 7);
  fake.say(busy + idle + "value used 6\n");
  CHECK(job.step(1s).usages.size() == 8);
}

TEST_CASE("an idle device is sampled once a second, until a process comes") {
  const std::string idle = "device GPU-a H100\nvalue gpu 0\nvalue memory 0\nvalue total 9\n";
  FakeNvml fake(idle + "value used 5\n");
  Stepper job;
  job.step();
  CHECK(job.next - job.at >= 500ms);
  fake.say(idle + "value used 5\nprocess 4711 1048576\n");
  const NvmlFindings found = job.step(1s);
  REQUIRE(found.processes.size() == 1);
  CHECK(found.processes[0].processes[0].pid == 4711);
  CHECK(job.next - job.at <= 250ms);
}

TEST_CASE("a device that was used is reported at every reading from then on") {
  const std::string rest = "value memory 0\nvalue total 9\nvalue used 5\n";
  FakeNvml fake("device GPU-a H100\nvalue gpu 50\n" + rest);
  Stepper job;
  CHECK(job.one().busyMilli == 500);
  fake.say("device GPU-a H100\nvalue gpu 0\n" + rest);
  for (int i = 0; i < 5; ++i) CHECK(job.one().busyMilli == 0);
}

TEST_CASE("samples that cost too much become rarer") {
  FakeNvml fake(hopper());
  Stepper job;
  job.cost = 3ms;  // a sample; 0.3 % of a core is one a second
  job.step();
  CHECK(job.next - job.at <= 250ms);  // the first, in which the library sets itself up, is not it
  job.step(1s);
  job.step(1s);
  CHECK(job.next - job.at >= 450ms);
  CHECK(job.next - job.at <= 1100ms);
}

TEST_CASE("processes come with memory, and their share from the second list on") {
  FakeNvml fake(hopper() + "process 11 2048 60\nprocess 12 -1\n");
  Stepper job;
  const NvmlFindings first = job.step();
  REQUIRE(first.processes.size() == 1);
  REQUIRE(first.processes[0].processes.size() == 2);
  CHECK(first.processes[0].processes[0].memoryBytes == 2048);
  CHECK(first.processes[0].processes[0].busyMilli == -1);
  CHECK(first.processes[0].processes[1].memoryBytes == -1);  // NOT_AVAILABLE
  CHECK(job.step().processes.empty());
  const NvmlFindings later = job.step(5s);
  REQUIRE(later.processes.size() == 1);
  CHECK(later.processes[0].processes[0].busyMilli == 600);
}

TEST_CASE("drivers of the 535 branch list processes in longer records") {
  FakeNvml fake("driver 535.54.03\n" + hopper() + "process 11 2048\nprocess 12 4096\n");
  Stepper job;
  const NvmlFindings found = job.step();
  REQUIRE(found.processes.size() == 1);
  REQUIRE(found.processes[0].processes.size() == 2);
  CHECK(found.processes[0].processes[1].pid == 12);
  CHECK(found.processes[0].processes[1].memoryBytes == 4096);
}

TEST_CASE("MIG instances are devices by their own UUIDs, beside their board") {
  FakeNvml fake(
      "device GPU-a H100\nvalue total 80\nvalue used 1\nvalue power 300000\n"
      "instance MIG-1\nvalue total 20\nvalue used 7\n" +
      hopperGpm() + "instance MIG-2\nvalue total 40\nvalue used 8\n");
  Stepper job;
  const NvmlFindings first = job.step();
  REQUIRE(first.devices.size() == 3);
  CHECK(first.devices[0].uuid == "GPU-a");
  CHECK_FALSE(first.devices[0].instance);
  CHECK(first.devices[1].uuid == "MIG-1");
  CHECK(first.devices[1].instance);
  CHECK(first.devices[2].memoryBytes == 40);
  CHECK(first.usages[0].usage.powerMilliwatts == 300000);
  CHECK(first.usages[1].usage.powerMilliwatts == -1);
  CHECK(first.usages[1].usage.memoryUsed == 7);
  // MIG-1 has GPM instead of a busy share, MIG-2 neither.
  CHECK(job.nvml.first == Coverage::kPartial);
  CHECK_THAT(job.nvml.second, Contains("MIG-2: no busy share") && !Contains("MIG-1:"));
  CHECK(job.gpm.first == Coverage::kPartial);
}

TEST_CASE("the processes of a board that is split are those of its instances") {
  const std::string board = "device GPU-a H100\nvalue total 80\nprocess 11 2048\n";
  FakeNvml fake(board + "instance MIG-1\nvalue total 20\nprocess 11 2048\n");
  Stepper job;
  const NvmlFindings found = job.step();
  REQUIRE(found.processes.size() == 1);
  CHECK(found.devices[found.processes[0].device].uuid == "MIG-1");
}

TEST_CASE("of boards that are split into many instances none is left out") {
  std::string text;
  for (int board = 0; board < 8; ++board) {
    text += "device GPU-" + std::to_string(board) + " H100\nvalue total 80\n";
    for (int i = 0; board < 2 && i < 7; ++i)
      text += "instance MIG-" + std::to_string(7 * board + i) + "\nvalue total 10\n";
  }
  FakeNvml fake(text);
  Stepper job;
  CHECK(job.step().devices.size() == 22);
}

TEST_CASE("a lost GPU is reported once, the others go on, and it is tried again") {
  const std::string other = hopper("GPU-b");
  FakeNvml fake(hopper() + other);
  Stepper job;
  job.step();
  fake.say(hopper() + "code * 15\n" + other);
  const NvmlFindings found = job.step();
  REQUIRE(found.usages.size() == 1);
  CHECK(found.usages[0].device == 1);
  CHECK(job.nvml.first == Coverage::kPartial);
  CHECK_THAT(job.nvml.second, Contains("GPU-a: the GPU is lost"));
  for (int i = 0; i < 5; ++i) CHECK(job.step(1s).states.empty());
  fake.say(hopper() + other);
  CHECK(job.step(31s).usages.size() == 2);
  CHECK(job.nvml.first == Coverage::kFull);
}

TEST_CASE("a driver that is not there is reported once, and taken when it comes") {
  FakeNvml fake("code nvmlInit_v2 9\n" + hopper());
  Stepper job;
  CHECK(job.step().usages.empty());
  CHECK(job.nvml.first == Coverage::kAbsent);
  CHECK_THAT(job.nvml.second, Contains("not loaded"));
  CHECK(job.next - job.at == 30s);
  CHECK(job.step(5s).states.empty());
  CHECK(job.step(30s).states.empty());
  fake.say(hopper());
  CHECK(job.step(31s).devices.size() == 1);
  CHECK(job.nvml.first == Coverage::kFull);
}

TEST_CASE("a library of another version than the driver's says what would help") {
  FakeNvml fake("code nvmlInit_v2 18\n");
  Stepper job;
  job.step();
  CHECK_THAT(job.nvml.second, Contains("different versions"));
}

TEST_CASE("a device that others keep from us is named, the rest is seen") {
  FakeNvml fake(hopper() + hopper("GPU-b") + "code nvmlDeviceGetHandleByIndex_v2 4\n");
  Stepper job;
  CHECK(job.step().devices.size() == 1);
  CHECK(job.nvml.first == Coverage::kPartial);
  CHECK_THAT(job.nvml.second, Contains("1 device,") && Contains("device 1: no permission"));
}

TEST_CASE("a driver that is unloaded under us is opened again, its devices not announced twice") {
  FakeNvml fake(hopper());
  Stepper job;
  job.step();
  fake.say(hopper() + "code * 1\n");
  CHECK(job.step().usages.empty());
  fake.say(hopper());
  const NvmlFindings found = job.step(31s);
  CHECK(found.devices.empty());
  CHECK(found.usages.size() == 1);
}

TEST_CASE("a library of 2018 gives what it has") {
  FakeNvml fake(hopper() + "value power 250000\nvalue energy 77\n");
  Stepper job(FakeNvml::library("old"));
  const DeviceUsage usage = job.one();
  CHECK(usage.busyMilli == 750);
  CHECK(usage.memoryUsed == 1073741824);
  CHECK(usage.powerMilliwatts == 250000);
  CHECK(usage.energyMillijoules == 77);
  CHECK(usage.throttleReasons == 4);
  CHECK(usage.powerThrottled == Nanos(-1));
  CHECK(usage.receivedBytes == -1);
  CHECK(job.nvml.first == Coverage::kFull);
  CHECK(job.gpm.first == Coverage::kAbsent);
}

TEST_CASE("a library that cannot be loaded is the reason") {
  Stepper job("/nowhere/libnvidia-ml.so.1");
  job.step();
  CHECK(job.nvml.first == Coverage::kAbsent);
  CHECK_THAT(job.nvml.second, Contains("/nowhere/libnvidia-ml.so.1"));
}
