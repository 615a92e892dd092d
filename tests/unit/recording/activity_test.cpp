// SPDX-License-Identifier: MIT
#include "recording/activity/activity.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
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

constexpr std::uint64_t kMs = 1'000'000, kUs = 1'000;
constexpr std::uint32_t kAll = STALLPROF_ON_COPIES | STALLPROF_ON_KERNELS | STALLPROF_ON_CALLS;
// CUPTI's clock is CLOCK_REALTIME: far from CLOCK_MONOTONIC.
constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000u;

// An activity memory, the agent's side of it, and identities: process = pid, thread = tid. Times
// are ns after `base`, the instant the recorder began.
struct ActivityBench {
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
    return out.all<P>();
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
    ActivityBench bench;
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
  ActivityBench bench;
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
    for (const std::string& line : testing::describe(bench.out)) live.push_back(line);
  }
  bench.gone.insert(42);
  bench.agent.taken(CuptiBytes(130000).kernel(bench.at(8100 * kMs, 8200 * kMs), 0x7f0000001000));
  bench.finish(8500 * kMs);
  for (const std::string& line : testing::describe(bench.out)) live.push_back(line);
  CHECK(bench.agent.area().owner == 0);
  EventList again;
  REQUIRE(replayActivity(file, bench.identities(), again).ok());
  CHECK(live.size() > 200);  // 500 works and calls of one second, reported one by one
  CHECK(testing::describe(again) == live);
}

TEST_CASE("work is reported when a flush has come after it, in order of its beginning") {
  ActivityBench bench;
  bench.start();
  const std::uint32_t name = bench.agent.name(0x7f0000001000, "k");
  // The second buffer holds what was first.
  bench.agent.full(CuptiBytes(130000).kernel(bench.at(900 * kUs, 950 * kUs), name));
  bench.agent.full(CuptiBytes(130000).kernel(bench.at(100 * kUs, 150 * kUs), name, 8));
  bench.drain(1000 * kMs);
  CHECK(bench.all<DeviceSpan>().empty());
  CHECK(bench.all<DeviceTrace>().empty());
  bench.agent.full(CuptiBytes(130000).kernel(bench.at(500 * kUs, 550 * kUs), name, 9));
  bench.agent.flushed(bench.base() + 925 * kUs);
  bench.drain(1080 * kMs);
  const auto spans = bench.all<DeviceSpan>();
  REQUIRE(spans.size() == 3);
  std::vector<std::int64_t> begins;
  for (const Event& event : bench.out.events)
    if (std::holds_alternative<DeviceSpan>(event.payload))
      begins.push_back((event.at - bench.began).count());
  CHECK(begins == std::vector<std::int64_t>{100'000, 500'000, 900'000});
  CHECK(spans[2].duration == Nanos(25 * kUs));  // cut at the flush
  CHECK(bench.all<DeviceUse>().empty());        // its second is not over
  bench.agent.flushed(bench.base() + 3000 * kMs);
  bench.drain(3000 * kMs);
  REQUIRE(bench.all<DeviceSpan>().size() == 1);
  CHECK(bench.all<DeviceSpan>()[0].duration == Nanos(25 * kUs));
  CHECK(bench.all<DeviceSpan>()[0].works == 0);  // it began in the span before
  std::uint64_t count = 0;
  for (const DeviceUse& use : bench.all<DeviceUse>()) count += use.count;
  CHECK(count == 3);
}

TEST_CASE("a kernel that outlasts flushes is reported late, for what it adds") {
  ActivityBench bench;
  bench.start();
  const std::uint32_t name = bench.agent.name(0x7f0000001000, "k");
  bench.agent.full(CuptiBytes(130000).kernel(bench.at(500 * kMs, 600 * kMs), name));
  bench.agent.flushed(bench.base() + 1000 * kMs);
  bench.drain(1000 * kMs);
  CHECK(bench.all<DeviceSpan>().size() == 1);
  bench.agent.full(CuptiBytes(130000).kernel(bench.at(400 * kMs, 1500 * kMs), name, 8));
  bench.agent.flushed(bench.base() + 2000 * kMs);
  bench.drain(2000 * kMs);
  const auto spans = bench.all<DeviceSpan>();
  REQUIRE(spans.size() == 3);  // before the first kernel, behind it, and since the flush
  CHECK(spans[0].duration == Nanos(100 * kMs));
  CHECK(spans[1].duration == Nanos(400 * kMs));
  CHECK(spans[2].duration == Nanos(500 * kMs));
}

TEST_CASE("what CUPTI held of a killed process is read up to where it was") {
  ActivityBench bench;
  bench.start();
  bench.agent.name(0x7f0000001000, "k");
  CuptiBytes records(130000);
  records.device(0, 0, 0xab);
  for (std::uint64_t i = 0; i < 10; ++i)
    records.kernel(bench.at(i * kMs, i * kMs + 500 * kUs), 0x7f0000001000);
  records.kernel({kEpoch + 10 * kMs, 0}, 0x7f0000001000);  // was still running
  const std::size_t buffer = bench.agent.taken(records);
  bench.drain(100 * kMs);
  CHECK(bench.all<DeviceWork>().empty());
  CHECK(bench.agent.area().buffer[buffer].state == STALLPROF_BUFFER_TAKEN);
  bench.gone.insert(42);
  bench.drain(2000 * kMs);
  std::uint64_t count = 0;
  for (const DeviceUse& use : bench.all<DeviceUse>()) {  // two, where a second ends amid them
    count += use.count;
    CHECK(bench.out.strings.at(use.name) == "k");  // by its pointer
  }
  CHECK(count == 10);
  CHECK(bench.all<DeviceSpan>().size() == 10);
  CHECK(bench.all<DeviceTrace>().empty());  // nothing says that this was all
  CHECK(bench.lost(LossKind::kDeviceDropped) == 1);
  CHECK(bench.lost(LossKind::kDeviceInvalid) == 0);
  CHECK(bench.agent.area().owner == 0);
  CHECK(bench.agent.area().name_head == 0);
  CHECK(bench.agent.area().data[buffer][0] == 0);
  // And the area serves the next.
  bench.gone.clear();
  bench.agent.claim(77, 5);
  bench.agent.pair(bench.base() + 2100 * kMs, kEpoch + 2100 * kMs);
  bench.agent.full(CuptiBytes(130000).kernel(bench.at(2100 * kMs, 2200 * kMs), 0));
  bench.agent.flushed(bench.base() + 2500 * kMs);
  bench.drain(3000 * kMs);
  REQUIRE(bench.all<DeviceSpan>().size() == 1);
  CHECK(bench.all<DeviceSpan>()[0].process == ProcessId{77});
}

TEST_CASE("a process killed while it writes has its records counted exactly") {
  ActivityBench bench;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    AreaWriter job(bench.memory->path(static_cast<std::uint32_t>(::getppid())));
    job.claim(42, 999);
    job.pair(bench.base(), kEpoch);
    job.turn(bench.base(), kAll);
    for (std::uint64_t b = 0; b < 5; ++b) {
      CuptiBytes records(130000);
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t t = (b * 1000 + i) * 10 * kUs;
        records.kernel(bench.at(t, t + 5 * kUs), 0);
      }
      b < 3 ? job.full(records) : job.taken(records);
    }
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WTERMSIG(status) == SIGKILL);
  bench.gone.insert(42);
  bench.finish(1000 * kMs);
  std::uint64_t count = 0;
  for (const DeviceUse& use : bench.all<DeviceUse>()) count += use.count;
  CHECK(count == 5000);
  CHECK(bench.all<Loss>().empty());
}

TEST_CASE("records without a time of this run are counted, not reported") {
  ActivityBench bench;
  bench.start();
  CuptiBytes records(130000);
  records.kernel({0, 0}, 0)
      .kernel({0, kEpoch}, 0)
      .kernel({kEpoch + 50, kEpoch + 40}, 0)
      .kernel({1, 2}, 0)
      .kernel({kEpoch, ~0ull}, 0)
      .kernel({kEpoch - 3'600'000'000'000u, kEpoch}, 0)
      .kernel({kEpoch, kEpoch + 3'600'000'000'000u}, 0)
      .kernel(bench.at(1000, 2000), 0, 7, 64)  // no such device
      .kernel(bench.at(1000, 2000), 0);
  bench.agent.full(records);
  bench.agent.flushed(bench.base() + 1000 * kMs);
  bench.drain(1000 * kMs);
  CHECK(bench.lost(LossKind::kDeviceInvalid) == 8);
  CHECK(bench.all<DeviceSpan>().size() == 1);
}

TEST_CASE("what the agent and CUPTI lost is passed on, each time for what it grew by") {
  ActivityBench bench;
  bench.start();
  bench.agent.area().dropped = 10;
  bench.agent.area().starved = 2;
  bench.agent.area().names_lost = 3;
  bench.agent.header().turned_away = 1;
  bench.drain(1000 * kMs);
  CHECK(bench.lost(LossKind::kDeviceDropped) == 10);  // this CUPTI counts the starved among them
  CHECK(bench.lost(LossKind::kStringsFull) == 3);
  CHECK(bench.lost(LossKind::kDeviceSlots) == 1);
  bench.agent.area().dropped = 15;
  bench.agent.area().starved = 4;
  bench.agent.area().cupti_version = 26;
  bench.drain(2000 * kMs);
  CHECK(bench.lost(LossKind::kDeviceDropped) == 7);
  CHECK(bench.lost(LossKind::kDeviceSlots) == 0);
}

TEST_CASE("where records were lost nothing counts as traced") {
  ActivityBench bench;
  bench.start();
  const auto tracedBy = [&](std::uint64_t at) {
    bench.agent.flushed(bench.base() + at);
    bench.drain(at);
    std::int64_t kernels = 0;
    for (const DeviceTrace& trace : bench.all<DeviceTrace>())
      if (trace.kernels) kernels += trace.duration.count();
    return kernels;
  };
  CHECK(tracedBy(1000 * kMs) == 1000 * kMs);
  SECTION("CUPTI dropped some") {
    bench.agent.area().dropped = 10;
    CHECK(tracedBy(2000 * kMs) == 0);
    CHECK(tracedBy(3000 * kMs) == 1000 * kMs);
  }
  SECTION("it had no buffer, and has not yet been asked what that cost") {
    bench.agent.area().starved = 1;
    CHECK(tracedBy(2000 * kMs) == 0);
  }
  SECTION("work has no times") {
    bench.agent.full(CuptiBytes(130000).kernel({0, 0}, 0));
    CHECK(tracedBy(2000 * kMs) == 0);
    CHECK(bench.lost(LossKind::kDeviceInvalid) == 1);
  }
  SECTION("it was unfinished when all was switched off, and is part of nothing that was traced") {
    bench.agent.turn(bench.base() + 1500 * kMs, 0);
    bench.agent.full(CuptiBytes(130000).kernel({0, 0}, 0));
    CHECK(tracedBy(2000 * kMs) == 500 * kMs);
    CHECK(bench.lost(LossKind::kDeviceInvalid) == 0);
  }
}

TEST_CASE("an area that lies does no harm") {
  std::vector<void (*)(ActivityBench&)> lies = {
      [](ActivityBench& b) { b.agent.area().name_head = ~0ull; },
      [](ActivityBench& b) { b.agent.area().name_head = STALLPROF_NAME_BYTES; },
      [](ActivityBench& b) { b.agent.area().name_head = 3; },
      [](ActivityBench& b) {
        b.agent.name(5, "x");
        b.agent.area().names[12] = 0xff;  // its length
      },
      [](ActivityBench& b) { b.agent.area().clock_head = ~0ull; },
      [](ActivityBench& b) { b.agent.area().switch_head = ~0ull; },
      [](ActivityBench& b) {
        b.agent.area().switch_head = 1 << 20;
        std::memset(b.agent.area().onoff, 0xff, sizeof b.agent.area().onoff);
      },
      [](ActivityBench& b) { b.agent.area().flushed = ~0ull; },
      [](ActivityBench& b) { b.agent.area().flushed = b.base() + 3'600'000'000'000u; },
      [](ActivityBench& b) {
        b.agent.area().buffer[5] = {STALLPROF_BUFFER_FULL, 0, ~0ull};
      },
      [](ActivityBench& b) {
        b.agent.area().buffer[6] = {77, 0, 100};
      },
      [](ActivityBench& b) {
        std::memset(b.agent.area().data[7], 0x33, 4096);
        b.agent.area().buffer[7] = {STALLPROF_BUFFER_FULL, 0, 4096};
      },
      [](ActivityBench& b) {
        std::memset(b.agent.area().stride, 0xff, sizeof b.agent.area().stride);
      },
      [](ActivityBench& b) { b.agent.area().state = 99; },
      [](ActivityBench& b) { std::memset(b.agent.area().why, 'x', sizeof b.agent.area().why); },
      [](ActivityBench& b) { b.agent.area().start_ticks = ~0ull; },
      [](ActivityBench& b) { b.agent.area().owner = 43; },
      [](ActivityBench& b) { b.agent.area().owner = 0; },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    INFO("lie " << i);
    ActivityBench bench;
    bench.start();
    bench.agent.claim(50, 1, 130000, 1);
    bench.agent.pair(bench.base(), kEpoch, 1);
    bench.drain(100 * kMs);
    lies[i](bench);
    bench.agent.full(CuptiBytes(130000).kernel(bench.at(0, 5), 1), 1);
    bench.agent.flushed(bench.base() + 1000 * kMs, 1);
    for (std::uint64_t at = 1000; at < 5000; at += 500) bench.drain(at * kMs);
    bench.finish(5000 * kMs);
    // The other process's work is reported all the same.
    bench.out.events.clear();
    bench.gone = {42, 43, 50};
    bench.finish(6000 * kMs);
    CHECK(bench.agent.area(1).owner == 0);
  }
}

TEST_CASE("bytes that cannot be records are counted, at every byte") {
  ActivityBench bench;
  bench.start();
  bench.agent.name(5, "k");
  for (std::size_t at = 0; at < 216 * 2; ++at) {
    CuptiBytes records(130000);
    records.kernel(bench.at(0, 5), 1).kernel(bench.at(10, 15), 1);
    const std::size_t buffer = bench.agent.full(records);
    bench.agent.area().data[buffer][at] ^= 0xff;
    bench.drain(1000 * kMs + at * kMs);
    REQUIRE(bench.agent.area().buffer[buffer].state == STALLPROF_BUFFER_FREE);
    if (at % 216 < 4) CHECK(bench.lost(LossKind::kDeviceDamaged) == 432 - at / 216 * 216);
  }
}

TEST_CASE("without a pair of clocks buffers wait, and a dead owner's are lost by number") {
  ActivityBench bench;
  bench.agent.claim(42, 1);
  const std::size_t buffer = bench.agent.full(CuptiBytes(130000).kernel(bench.at(0, 5), 0));
  bench.drain(100 * kMs);
  CHECK(bench.agent.area().buffer[buffer].state == STALLPROF_BUFFER_FULL);
  bench.gone.insert(42);
  bench.finish(200 * kMs);
  CHECK(bench.lost(LossKind::kDeviceInvalid) == 1);
}

TEST_CASE("the agent's state is the source gpu, in its words") {
  struct Case {
    std::uint32_t state;
    const char* why;
    Coverage coverage;
    const char* said;
  };
  const Case cases[] = {
      {STALLPROF_AGENT_TRACING, "", Coverage::kFull, ""},
      {STALLPROF_AGENT_TRACING, "kernels one second in ten", Coverage::kPartial,
       "kernels one second in ten"},
      {STALLPROF_AGENT_YIELDED, "torch.profiler has CUPTI", Coverage::kPartial,
       "torch.profiler has CUPTI"},
      {STALLPROF_AGENT_REFUSED, "no permission", Coverage::kAbsent, "no permission"},
      {STALLPROF_AGENT_REFUSED, "", Coverage::kAbsent, "CUPTI refused, with error 39"},
      {STALLPROF_AGENT_HUNG, "", Coverage::kPartial,
       "a call into CUPTI did not come back: not traced since"},
  };
  for (const Case& one : cases) {
    ActivityBench bench;
    bench.start();
    bench.agent.area().state = one.state;
    bench.agent.area().error = 39;
    std::strcpy(bench.agent.area().why, one.why);
    bench.drain(1000 * kMs);
    const auto states = bench.all<SourceState>();
    REQUIRE(states.size() == 1);
    CHECK(states[0].state == one.coverage);
    CHECK(bench.out.strings.at(states[0].source) == "gpu");
    CHECK(bench.out.strings.at(states[0].why) == one.said);
    bench.drain(2000 * kMs);
    CHECK(bench.all<SourceState>().empty());
  }
  ActivityBench bench;  // one of two processes is refused
  bench.start();
  bench.agent.claim(43, 1, 130000, 1);
  bench.agent.area(1).state = STALLPROF_AGENT_REFUSED;
  bench.drain(1000 * kMs);
  REQUIRE(bench.all<SourceState>().size() == 1);
  CHECK(bench.all<SourceState>()[0].state == Coverage::kPartial);
}

TEST_CASE("intervals follow the switches, up to the last flush") {
  ActivityBench bench;
  bench.start();
  bench.agent.turn(bench.base() + 200 * kMs, STALLPROF_ON_COPIES);
  bench.agent.turn(bench.base() + 500 * kMs, 0);
  bench.agent.turn(bench.base() + 600 * kMs, STALLPROF_ON_COPIES | STALLPROF_ON_KERNELS);
  bench.agent.flushed(bench.base() + 700 * kMs);
  bench.drain(1000 * kMs);
  const auto traces = bench.all<DeviceTrace>();
  REQUIRE(traces.size() == 3);
  CHECK(traces[0].duration == Nanos(200 * kMs));
  CHECK(traces[0].calls);
  CHECK(traces[1].duration == Nanos(300 * kMs));
  CHECK_FALSE(traces[1].kernels);
  CHECK(traces[2].duration == Nanos(100 * kMs));
  CHECK(traces[2].kernels);
  CHECK_FALSE(traces[2].calls);
}

TEST_CASE("kernels count as traced once those launched before the switch have run") {
  ActivityBench bench;
  bench.start();
  bench.drain(0);
  bench.agent.turn(bench.base() + 1000 * kMs, STALLPROF_ON_COPIES);
  bench.agent.flushed(bench.base() + 1500 * kMs);
  bench.drain(1500 * kMs);
  bench.agent.turn(bench.base() + 2000 * kMs, kAll);
  const auto tracedFrom = [&](std::uint64_t until) {
    bench.agent.flushed(bench.base() + until);
    bench.drain(until);
    for (const Event& event : bench.out.events)
      if (const auto* trace = std::get_if<DeviceTrace>(&event.payload);
          trace != nullptr && trace->kernels)
        return static_cast<std::uint64_t>(event.at.count()) - bench.base();
    return std::uint64_t{0};
  };
  CuptiBytes records(130000);
  SECTION("which kept its first waiting") {
    records.call(bench.at(2001 * kMs, 2001 * kMs + 9), 211, 43)
        .kernel(bench.at(2045 * kMs, 2046 * kMs), 0);
    bench.agent.full(records);
    CHECK(tracedFrom(3000 * kMs) == 2045 * kMs);
  }
  SECTION("none did") {
    records.call(bench.at(2040 * kMs, 2040 * kMs + 9), 211, 43)
        .kernel(bench.at(2040 * kMs + 10 * kUs, 2046 * kMs), 0);
    bench.agent.full(records);
    CHECK(tracedFrom(3000 * kMs) == 2000 * kMs);
  }
  SECTION("nothing has come since") { CHECK(tracedFrom(3000 * kMs) == 0); }
}

TEST_CASE("where calls are not traced, waits are reported without their thread") {
  ActivityBench bench;
  bench.agent.claim(42, 999);
  bench.agent.pair(bench.base(), kEpoch);
  bench.agent.turn(bench.base(), STALLPROF_ON_COPIES);
  bench.agent.full(CuptiBytes(130000)
                       .sync(bench.at(0, 300 * kUs), 3)
                       .sync(bench.at(400 * kUs, 800 * kUs), 2));  // a stream's, not the host's
  bench.agent.flushed(bench.base() + 2000 * kMs);
  bench.drain(2000 * kMs);
  const auto calls = bench.all<DeviceCall>();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].thread.none());
  CHECK(calls[0].process == ProcessId{42});
  CHECK(calls[0].kind == DeviceCallKind::kSync);
  CHECK(bench.all<DeviceCallUse>().size() == 1);
}

TEST_CASE("of many names the most used have totals, the rest one together") {
  ActivityBench bench;
  bench.start();
  CuptiBytes records(130000);
  // Totals are of the clock's seconds: all of it is in one, the next.
  std::uint64_t at = 1010 * kMs - bench.base() % (1000 * kMs);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    const std::uint32_t name = bench.agent.name(0x7f0000000000 + i, "k" + std::to_string(i));
    records.kernel(bench.at(at, at + i * kUs), name);
    at += i * kUs;
  }
  bench.agent.full(records);
  bench.agent.flushed(bench.base() + 4000 * kMs);
  bench.drain(4000 * kMs);
  const auto uses = bench.all<DeviceUse>();
  REQUIRE(uses.size() == 49);
  CHECK(bench.out.strings.at(uses[0].name) == "k100");
  CHECK(bench.out.strings.at(uses[48].name) == "(other)");
  CHECK(uses[48].count == 52);
  CHECK(uses[48].time == Nanos(52 * 53 / 2 * kUs));
}

TEST_CASE("without a process that uses a GPU the memory stays empty") {
  ActivityBench bench;
  for (std::uint64_t at = 0; at < 20'000; at += 80) bench.drain(at * kMs);
  const Fd fd =
      openAt(AT_FDCWD, bench.memory->path(static_cast<std::uint32_t>(::getpid())).c_str(), O_RDWR);
  REQUIRE(fd.valid());
  struct stat info {};
  REQUIRE(::fstat(fd.get(), &info) == 0);
  CHECK(info.st_size == static_cast<off_t>(STALLPROF_ACTIVITY_BYTES));
  CHECK(info.st_blocks * 512 <= 4096);  // the header
  CHECK(::ftruncate(fd.get(), 0) != 0);
  CHECK(::ftruncate(fd.get(), info.st_size + 4096) != 0);
  bench.memory->close();
  CHECK(bench.agent.header().closed == 1);
}

// What is reported one by one, second by second, of that many launches in each.
std::vector<std::size_t> worksEmitted(const std::vector<std::uint64_t>& launches) {
  ActivityBench bench;
  bench.start();
  const std::uint32_t name = bench.agent.name(0x7f0000001000, "k");
  std::vector<std::size_t> works;
  for (std::uint64_t second = 0; second < launches.size(); ++second) {
    for (std::uint64_t done = 0; done < launches[second];) {
      CuptiBytes records(130000);
      for (int i = 0; i < 1000 && done < launches[second]; ++i, ++done) {
        const std::uint64_t t = second * 1000 * kMs + done * 1000 * kMs / launches[second];
        records.kernel(bench.at(t, t + kUs), name);
        records.call(bench.at(t, t + 500), 211, 43);
      }
      bench.agent.full(records);
    }
    bench.agent.pair(bench.base() + (second + 1) * 1000 * kMs, kEpoch + (second + 1) * 1000 * kMs);
    bench.agent.flushed(bench.base() + (second + 1) * 1000 * kMs);
    bench.drain((second + 1) * 1000 * kMs);
    works.push_back(bench.all<DeviceWork>().size());
  }
  return works;
}

std::size_t total(const std::vector<std::size_t>& works) {
  return std::accumulate(works.begin(), works.end(), std::size_t{0});
}

TEST_CASE("much work is reported one by one for a second, and for no longer where more comes") {
  const std::vector<std::size_t> steady = worksEmitted(std::vector<std::uint64_t>(20, 15'000));
  CHECK(steady[3] == 15'000);
  CHECK(total(steady) < 16'000);
  std::vector<std::uint64_t> launches(4, 50);  // a pause, by which ten seconds would be little
  launches.resize(20, 25'000);
  const std::size_t more = total(worksEmitted(launches));
  CHECK(more > 25'000);
  CHECK(more < 3 * 25'000);
}

TEST_CASE("everything is reported for ten seconds, once work is steady, and again a minute later") {
  ActivityBench bench;
  bench.start();
  const std::uint32_t name = bench.agent.name(0x7f0000001000, "k");
  std::vector<std::size_t> works(130);
  Nanos each{};
  for (std::uint64_t second = 0; second < 130; ++second) {
    CuptiBytes records(130000);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t t = second * 1000 * kMs + i * 10 * kMs;
      records.kernel(bench.at(t, t + kMs), name);
      records.call(bench.at(t, t + 5 * kUs), 211, 43);
    }
    bench.agent.full(records);
    bench.agent.pair(bench.base() + (second + 1) * 1000 * kMs, kEpoch + (second + 1) * 1000 * kMs);
    bench.agent.flushed(bench.base() + (second + 1) * 1000 * kMs);
    bench.drain((second + 1) * 1000 * kMs);
    works[second] = bench.all<DeviceWork>().size();
    CHECK(bench.all<DeviceCall>().size() == works[second]);
    for (const DeviceTrace& trace : bench.all<DeviceTrace>())
      if (trace.each) each += trace.duration;
  }
  CHECK(works[2] == 0);
  CHECK(works[3] == 100);
  CHECK(std::accumulate(works.begin(), works.begin() + 60, std::size_t{0}) <= 1002);
  CHECK(total(works) >= 2700);
  CHECK(total(works) <= 2706);
  CHECK(each == std::chrono::seconds(27));
}

}  // namespace
}  // namespace stallprof
