// SPDX-License-Identifier: MIT
#include "sampler/host/host.h"

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

const std::string kRoot = std::string(STALLPROF_TESTS_DIR) + "/fixtures/root";

// What one sample of the fixture reports.
EventList sampledOnce() {
  EventList list;
  HostSampler(kRoot, nullptr).sample(Nanos(1), list);
  return list;
}

}  // namespace

TEST_CASE("the host's CPU, memory, swap and pressure are read") {
  const EventList list = sampledOnce();
  const auto host = list.only<HostUsage>();
  CHECK(host.busy == ticks(6786 + 14 + 3474 + 0 + 73));  // guest time is inside user already
  CHECK(host.idle == ticks(266544));
  CHECK(host.ioWait == ticks(654));
  CHECK(host.steal == ticks(12));
  CHECK(host.jobCpu == Nanos(-1));
  CHECK(host.memoryTotal == 24684096ll * 1024);
  CHECK(host.memoryAvailable == 24187384ll * 1024);
  CHECK(host.pageCache == 883124ll * 1024);
  CHECK(host.dirty == 480 * 1024);
  CHECK(host.swapInPages == 7);
  CHECK(host.swapOutPages == 9);
  CHECK(host.reclaimScans == 33);
  CHECK(host.cpuSome == std::chrono::microseconds(5670059));
  CHECK(host.ioFull == std::chrono::microseconds(4268197));
  CHECK(host.memoryFull == std::chrono::microseconds(3));
  CHECK(host.shmTotal > 0);
  for (const char* source : {"host", "pressure", "disk", "network"})
    CHECK(list.source(source).first == Coverage::kFull);
}

TEST_CASE("whole disks with traffic count once: no partition, no layer, no unused disk") {
  const EventList list = sampledOnce();
  const auto disk = list.only<DiskUsage>();
  CHECK(list.text(disk.device) == "vda");
  CHECK(disk.reads == 32033);
  CHECK(disk.readBytes == 2993146ll * 512);
  CHECK(disk.writeBytes == 2219304ll * 512);
  CHECK(disk.readTime == std::chrono::milliseconds(13667));
  CHECK(disk.busy == std::chrono::milliseconds(7308));
}

TEST_CASE("interfaces with traffic are reported, the loopback is not") {
  const EventList list = sampledOnce();
  const auto network = list.only<NetworkUsage>();
  CHECK(list.text(network.interface) == "eth0");
  CHECK(network.receivedBytes == 100316748);
  CHECK(network.sentBytes == 201041);
}

TEST_CASE("a host without pressure or anything else is reported as such, once") {
  Machine machine;
  EventList list;
  HostSampler sampler(machine.root(), nullptr);
  sampler.sample(Nanos(1), list);
  sampler.sample(Nanos(2), list);
  for (const char* source : {"host", "pressure", "disk", "network"}) {
    CHECK(list.source(source).first == Coverage::kAbsent);
    CHECK_FALSE(list.source(source).second.empty());
  }
  CHECK(list.all<SourceState>().size() == 4);
  const auto hosts = list.all<HostUsage>();
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].busy == Nanos(-1));
  CHECK(hosts[0].memoryTotal == -1);
  CHECK(hosts[0].ioSome == Nanos(-1));
}

TEST_CASE("disks whose kind /sys does not show are not recorded, and that is said") {
  Machine machine;
  machine.file("proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
  EventList list;
  HostSampler sampler(machine.root(), nullptr);
  sampler.sample(Nanos(1), list);
  CHECK(list.all<DiskUsage>().empty());
  CHECK(list.source("disk") ==
        std::pair(Coverage::kAbsent, std::string("/sys/block cannot be read")));
}

TEST_CASE("a host without disks is not one whose disks cannot be read") {
  Machine machine;
  machine.file("sys/block/sda/stat", "");
  machine.file("proc/diskstats", "");
  EventList list;
  HostSampler sampler(machine.root(), nullptr);
  sampler.sample(Nanos(1), list);
  CHECK(list.source("disk").second == "/proc/diskstats is empty");
  CHECK(list.source("network").second == "/proc/net/dev cannot be read");
}

TEST_CASE("an interface that others carry is not counted beside them") {
  Machine machine;
  std::string text = "h\nh\n";
  for (const char* name : {"eth0", "bond0", "cni0", "veth1", "veth2"})
    text += std::string(name) + ": 100 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n";
  machine.file("proc/net/dev", text);
  const std::string net = "sys/class/net/";
  machine.file(net + "eth0/master", "");  // of the bond
  machine.file(net + "eth0/device/vendor", "");
  machine.file(net + "bond0/lower_eth0", "");
  machine.file(net + "cni0/lower_veth1", "");
  machine.file(net + "veth1/master", "");
  machine.file(net + "veth2/mtu", "1500");  // inside a container: all there is
  EventList list;
  HostSampler sampler(machine.root(), nullptr);
  sampler.sample(Nanos(1), list);
  std::vector<std::string> seen;
  for (const NetworkUsage& usage : list.all<NetworkUsage>())
    seen.emplace_back(list.textOf(usage.interface));
  CHECK(seen == std::vector<std::string>{"eth0", "veth2"});
}

TEST_CASE("huge and broken figures do not become small ones") {
  Machine machine;
  machine.file("proc/net/dev", "h\nh\neth0: 18446744073709551615 1 1 1 1 1 1 1 x\nbroken\n");
  machine.file("proc/diskstats", "8 0\n8 0 sda x y z\n");
  machine.file("proc/stat", "cpu  1 2\n");
  EventList list;
  HostSampler sampler(machine.root(), nullptr);
  sampler.sample(Nanos(1), list);
  const auto network = list.only<NetworkUsage>();
  CHECK(network.receivedBytes == std::numeric_limits<std::int64_t>::max());
  CHECK(list.all<DiskUsage>().empty());
  CHECK(list.all<HostUsage>()[0].busy == Nanos(-1));
}
