// SPDX-License-Identifier: MIT
#include "recording/activity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "activity_writer.h"
#include "base/fd.h"
#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::AreaWriter;
using testing::CuptiBytes;
using testing::EventList;

constexpr std::uint64_t kMs = 1'000'000, kUs = 1'000;
constexpr std::uint32_t kAll = STALLPROF_ON_COPIES | STALLPROF_ON_KERNELS | STALLPROF_ON_CALLS;
// CUPTI's clock is CLOCK_REALTIME: far from CLOCK_MONOTONIC.
constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000u;

// An activity memory, the agent's side of it, and identities: process = pid, thread = tid. Times
// are ns after `base`, the instant the recorder began.
struct Bench {
  Nanos began = now();
  std::unique_ptr<ActivityMemory> memory = std::move(ActivityMemory::create()).value();
  AreaWriter agent{memory->path(static_cast<std::uint32_t>(::getpid()))};
  EventList out;
  std::set<std::uint32_t> gone;

  [[nodiscard]] std::uint64_t base() const { return static_cast<std::uint64_t>(began.count()); }
  // In CUPTI's clock.
  [[nodiscard]] CuptiBytes::Times at(std::uint64_t from, std::uint64_t to) const {
    return {kEpoch + from, kEpoch + to};
  }
  // The agent as it starts: area, first clocks, everything switched on.
  void start(std::uint32_t version = 130000) {
    agent.claim(42, 999, version);
    agent.pair(base(), kEpoch);
    agent.turn(base(), kAll);
  }
  EventMemory::Identities identities() {
    return {[](std::uint32_t pid, std::uint64_t) { return ProcessId{pid}; },
            [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
            [this](std::uint32_t pid, std::uint64_t) { return gone.count(pid) > 0; }};
  }
  void drain(std::uint64_t at) {
    out.events.clear();
    memory->drain(began + Nanos(static_cast<std::int64_t>(at)), identities(), out);
  }
  void finish(std::uint64_t at) {
    out.events.clear();
    memory->finish(began + Nanos(static_cast<std::int64_t>(at)), identities(), out);
  }
  template <class P>
  [[nodiscard]] std::vector<P> all() const {
    std::vector<P> found;
    for (const Event& event : out.events)
      if (const auto* payload = std::get_if<P>(&event.payload)) found.push_back(*payload);
    return found;
  }
  [[nodiscard]] std::uint64_t lost(LossKind kind) const {
    std::uint64_t count = 0;
    for (const Loss& loss : all<Loss>())
      if (loss.kind == kind) count += loss.count;
    return count;
  }
};

TEST_CASE("what an agent hands over becomes device events, in every CUPTI's layout") {
  for (const std::uint32_t version : {18u, 19u, 26u, 130000u}) {
    INFO("cuptiGetVersion " << version);
    Bench bench;
    bench.start(version);
    const std::uint32_t gemm = bench.agent.name(0x7f0000001000, "_Z4gemmPf");
    const std::uint32_t nccl = bench.agent.name(0x7f0000002000, "_Z31ncclDevKernel_AllReducePv");
    CuptiBytes records(version);
    records.device(0, 0, 0xab)
        .call(bench.at(100 * kUs, 110 * kUs), 211, 43)
        .kernel(bench.at(200 * kUs, 300 * kUs), gemm)
        .kernel(bench.at(250 * kUs, 400 * kUs), nccl, 8)
        .copy(bench.at(500 * kUs, 600 * kUs), 1 << 20, 1, 1)
        .set(bench.at(700 * kUs, 710 * kUs), 4096)
        .graph(bench.at(800 * kUs, 900 * kUs))
        .sync(bench.at(0, 10), 3)
        .overhead(bench.at(5, 10), 1 << 16, 43)
        .call(bench.at(600 * kUs, 900 * kUs), 131, 43);
    const std::size_t buffer = bench.agent.full(records);
    bench.agent.flushed(bench.base() + 2000 * kMs);
    bench.drain(2000 * kMs);

    const auto seen = bench.all<DeviceSeen>();
    REQUIRE(seen.size() == 1);
    CHECK(bench.out.strings.at(seen[0].device) == "GPU-abababab-abab-abab-abab-abababababab");
    CHECK(seen[0].process == ProcessId{42});
    CHECK(seen[0].multiprocessors == 132);
    CHECK(seen[0].majorCapability == 9);
    CHECK(seen[0].memoryBytes == std::int64_t{80} << 30);

    const auto spans = bench.all<DeviceSpan>();
    REQUIRE(spans.size() == 4);
    CHECK(spans[0].duration == Nanos(200 * kUs));
    CHECK(spans[0].busy == Nanos(200 * kUs));
    CHECK(spans[0].collectiveOnly == Nanos(100 * kUs));
    CHECK(spans[0].works == 2);
    CHECK(spans[1].copyOnly == Nanos(100 * kUs));
    CHECK(spans[2].copyOnly == Nanos(10 * kUs));
    CHECK(spans[3].copyOnly == Nanos(0));

    const auto uses = bench.all<DeviceUse>();
    REQUIRE(uses.size() == 5);
    const auto find = [&](DeviceWorkKind kind) {
      for (const DeviceUse& use : uses)
        if (use.kind == kind) return use;
      return DeviceUse{};
    };
    CHECK(find(DeviceWorkKind::kKernel).time == Nanos(100 * kUs));
    CHECK(find(DeviceWorkKind::kKernel).filled == Nanos(50 * kUs));  // 66 blocks, 132 SMs
    CHECK(bench.out.strings.at(find(DeviceWorkKind::kKernel).name) == "_Z4gemmPf");
    CHECK(find(DeviceWorkKind::kCollective).time == Nanos(150 * kUs));
    CHECK(find(DeviceWorkKind::kToDevice).bytes == 1 << 20);
    CHECK(find(DeviceWorkKind::kToDevice).memory == HostMemory::kPageable);
    CHECK(find(DeviceWorkKind::kSet).bytes == 4096);
    CHECK(find(DeviceWorkKind::kGraph).bytes == -1);

    const auto calls = bench.all<DeviceCall>();  // of 100 us and more
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].kind == DeviceCallKind::kSync);
    CHECK(calls[0].thread == ThreadId{43});
    CHECK(bench.out.strings.at(calls[0].name) == "cudaStreamSynchronize");
    const auto callUses = bench.all<DeviceCallUse>();
    REQUIRE(callUses.size() == 3);  // launch, synchronize, and what tracing took

    const auto traces = bench.all<DeviceTrace>();
    REQUIRE(traces.size() == 1);
    CHECK(traces[0].duration == Nanos(2000 * kMs));
    CHECK(traces[0].kernels);
    CHECK(traces[0].calls);
    CHECK_FALSE(traces[0].each);
    const auto states = bench.all<SourceState>();
    REQUIRE(states.size() == 1);
    CHECK(states[0].state == Coverage::kFull);
    CHECK(bench.all<Loss>().empty());

    CHECK(bench.agent.area().buffer[buffer].state == STALLPROF_BUFFER_FREE);
    for (std::size_t i = 0; i < records.bytes().size(); ++i)
      REQUIRE(bench.agent.area().data[buffer][i] == 0);
    bench.drain(2080 * kMs);
    CHECK(bench.out.events.empty());
  }
}

TEST_CASE("a run that was kept plays again with the same events") {
  testing::TemporaryDirectory directory;
  const std::string file = directory.path() + "/kept";
  Bench bench;
  REQUIRE(bench.memory->keep(file).ok());
  bench.start();
  const std::uint32_t gemm = bench.agent.name(0x7f0000001000, "gemm");
  std::vector<std::string> live;
  for (std::uint64_t second = 0; second < 8; ++second) {
    const std::uint64_t s = second * 1000 * kMs;
    CuptiBytes records(130000);
    if (second == 0) records.device(0, 0, 0xab);
    for (std::uint64_t i = 0; i < 500; ++i) {
      records.kernel(bench.at(s + i * kMs, s + i * kMs + 500 * kUs), gemm);
      records.call(bench.at(s + i * kMs, s + i * kMs + 5 * kUs), 211, 43);
    }
    bench.agent.full(records);
    bench.agent.pair(bench.base() + s + 990 * kMs, kEpoch + s + 990 * kMs);
    bench.agent.flushed(bench.base() + s + 980 * kMs);
    bench.drain(s + 1000 * kMs);
    for (const std::string& line : bench.out.described()) live.push_back(line);
  }
  bench.gone.insert(42);
  bench.agent.taken(CuptiBytes(130000).kernel(bench.at(8100 * kMs, 8200 * kMs), 0x7f0000001000));
  bench.finish(8500 * kMs);
  for (const std::string& line : bench.out.described()) live.push_back(line);
  CHECK(bench.agent.area().owner == 0);
  EventList again;
  REQUIRE(replayActivity(file, bench.identities(), again).ok());
  CHECK(live.size() > 200);  // 500 works and calls of one second, told one by one
  CHECK(again.described() == live);
}

}  // namespace
}  // namespace stallprof
