// SPDX-License-Identifier: MIT
// A host of 128 CPUs and four nodes with a job of 64 workers, as a kernel shows it: the fixture is
// what scripts/capture_host took from an emulated machine.
#include <fstream>
#include <map>
#include <sstream>

#include "sampler/host/cgroup_sampler.h"
#include "sampler/host/host.h"
#include "sampler/proc/cgroup.h"
#include "sampler/proc/numa_nodes.h"
#include "sampler/processes/process_sampler.h"
#include "sampler/thread_sampler.h"
#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

constexpr std::size_t kFirst = 65, kCpus = 128;  // the job's cpuset
constexpr std::size_t kThreads = 200, kWorkers = 64;

class ManyCpus : public Machine {
 public:
  ManyCpus() {
    std::ifstream in(std::string(STALLPROF_TESTS_DIR) + "/fixtures/many_cpus.txt",
                     std::ios::binary);
    std::string path;
    for (std::size_t length = 0; in >> path >> length;) {
      std::string text(length, '\0');
      in.get();
      in.read(text.data(), static_cast<std::streamsize>(length));
      file(path, text);
      if (path == "later/proc/stat") later_ = text;
      if (trainer_ == 0 && path.ends_with("/stat") && path.starts_with("proc/"))
        trainer_ = std::atoi(path.c_str() + 5);
    }
    REQUIRE(trainer_ > 0);
  }
  [[nodiscard]] int trainer() const { return trainer_; }
  [[nodiscard]] const std::string& laterStat() const { return later_; }
  [[nodiscard]] std::string stat() const { return contentOf(root() + "/proc/stat"); }

 private:
  int trainer_ = 0;
  std::string later_;
};

// Unpacked once: some 3,000 files.
const ManyCpus& manyCpus() {
  static const ManyCpus machine;
  return machine;
}

// Busy ticks of CPU `first` to `last` in the text of /proc/stat, by another way than the sampler's.
long busyTicks(const std::string& stat, std::size_t first, std::size_t last) {
  std::istringstream lines(stat);
  long sum = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.size() < 4 || name.substr(0, 3) != "cpu") continue;
    const std::size_t cpu = std::stoul(name.substr(3));
    long user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0;
    words >> user >> nice >> system >> idle >> wait >> interrupts >> soft;
    if (cpu >= first && cpu <= last) sum += user + nice + system + interrupts + soft;
  }
  return sum;
}

struct Watched {
  Watched() : tree(manyCpus().root(), manyCpus().trainer()) { tree.sample(s(1), list); }
  EventList list;
  ProcessTree tree;
};

}  // namespace

TEST_CASE("of 128 CPUs: a cpuset above the first 64 is what a job may use") {
  CHECK(usableCores(manyCpus().root(), manyCpus().trainer()) == kCpus - kFirst);
  const CpuMask mask = allowedInStatus(contentOf(
      processPath(manyCpus().root(), static_cast<std::uint32_t>(manyCpus().trainer()), "status")));
  CHECK(mask.count() == kCpus - kFirst);
  CHECK(!mask[64]);
  CHECK(mask[127]);
}

TEST_CASE("of 128 CPUs: 64 workers and hundreds of threads are found, each once") {
  Watched job;
  REQUIRE(job.tree.processes().size() == 1 + kWorkers);
  std::size_t workers = 0;
  for (const LiveProcess& process : job.tree.processes()) {
    const bool trainer = process.pid == static_cast<std::uint32_t>(manyCpus().trainer());
    CHECK(process.threads.size() == (trainer ? kThreads : 2));
    workers += process.comm == "pt_data_worker";
  }
  CHECK(workers == kWorkers);
  CHECK(job.list.all<ThreadSeen>().size() == kThreads + 2 * kWorkers);
}

TEST_CASE("of 128 CPUs: what others do counts on the CPUs of the job alone") {
  Watched job;
  AllowedCpus cpus(manyCpus().root());
  cpus.update(job.tree.processes(), manyCpus().stat());
  cpus.update(job.tree.processes(), manyCpus().laterStat());
  HostUsage usage;
  cpus.fill(usage);
  const auto grown = [](std::size_t first, std::size_t last) {
    return tickLength() * (busyTicks(manyCpus().laterStat(), first, last) -
                           busyTicks(manyCpus().stat(), first, last));
  };
  CHECK(usage.allowedCpus == kCpus - kFirst);
  CHECK(usage.allowedBusy == grown(kFirst, kCpus - 1));
  CHECK(usage.allowedBusy > Nanos{});
  CHECK(usage.allowedBusy < grown(0, kCpus - 1));
  CHECK(usage.besideBusy == Nanos(-1));  // the emulator's cores have a thread each
}

TEST_CASE("of 128 CPUs: the host's row is of all, and knows the nodes") {
  Watched job;
  HostSampler sampler(manyCpus().root(), &job.tree);
  sampler.sample(s(1), job.list);
  const auto rows = job.list.all<HostUsage>();
  REQUIRE(rows.size() == 1);
  const Nanos each = tickLength() * busyTicks(manyCpus().stat(), 0, kCpus - 1);
  CHECK(rows[0].busy >= each - tickLength() * static_cast<Nanos::rep>(kCpus));  // ticks are cut
  CHECK(rows[0].busy <= each + tickLength() * static_cast<Nanos::rep>(kCpus) * 8);
  CHECK(rows[0].allowedCpus == kCpus - kFirst);
  CHECK(rows[0].nodes == 4);
  NumaNodes nodes(manyCpus().root());
  for (std::int64_t cpu = 0; cpu < static_cast<std::int64_t>(kCpus); ++cpu)
    CHECK(nodes.of(cpu) == cpu / 32);
}

TEST_CASE("of 128 CPUs: each worker is on the node of the CPU that it is pinned to") {
  Watched job;
  ProcessSampler sampler(manyCpus().root(), job.tree);
  sampler.sample(s(1), job.list);
  std::map<ProcessId, std::int32_t> nodes;
  for (const ProcessUsage& usage : job.list.all<ProcessUsage>()) nodes[usage.process] = usage.node;
  REQUIRE(nodes.size() == 1 + kWorkers);
  for (const LiveProcess& process : job.tree.processes()) {
    if (process.pid == static_cast<std::uint32_t>(manyCpus().trainer())) continue;
    const CpuMask pinned =
        allowedInStatus(contentOf(processPath(manyCpus().root(), process.pid, "status")));
    REQUIRE(pinned.count() == 1);
    CHECK(nodes[process.id] == static_cast<std::int32_t>(pinned._Find_first() / 32));
  }
}

TEST_CASE("of 128 CPUs: every one of hundreds of threads is sampled") {
  EventList list;
  ProcessTree tree(manyCpus().root(), manyCpus().trainer());
  ThreadSampler sampler(manyCpus().root(), tree);
  for (const Nanos at : {s(1), s(2)}) {
    tree.sample(at, list);
    sampler.sample(at, list);
  }
  sampler.finish(s(3), list);
  std::map<Wait, std::size_t> waits;
  std::map<ThreadId, bool> seen;
  for (const ThreadSlice& slice : list.all<ThreadSlice>())
    if (slice.samples > 0 && seen.emplace(slice.thread, true).second) ++waits[slice.wait];
  CHECK(seen.size() == kThreads + 2 * kWorkers);
  CHECK(waits[Wait::kRunning] == kWorkers / 8);
  CHECK(waits[Wait::kSleep] == seen.size() - kWorkers / 8);
}

TEST_CASE("of 128 CPUs: a group with a cpuset and no quota has no quota") {
  EventList list;
  CgroupSampler sampler(manyCpus().root(), manyCpus().trainer(), nullptr);
  sampler.sample(s(1), list);
  const auto row = list.only<CgroupUsage>();
  CHECK(row.version == 2);
  CHECK(row.cpuQuotaMilli == -1);
  CHECK(row.throttled == Nanos{});
}
