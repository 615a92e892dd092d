// SPDX-License-Identifier: MIT
#include "recording/memory/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <thread>

#include "base/fd.h"
#include "ring_writer.h"
#include "sample_events.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using secs = std::chrono::seconds;
using testing::RingWriter;

// An event memory, the job's side of it, and identities: process = pid, thread = tid.
struct RingBench {
  std::unique_ptr<EventMemory> memory = std::move(EventMemory::create()).value();
  RingWriter job{memory->path(static_cast<std::uint32_t>(::getpid()))};
  EventList out;
  std::set<std::uint32_t> gone;
  std::vector<std::uint64_t> starts;

  EventMemory::Identities identities() {
    return {[this](std::uint32_t pid, std::uint64_t start) {
              starts.push_back(start);
              return ProcessId{pid};
            },
            [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
            [this](std::uint32_t pid, std::uint64_t) { return gone.count(pid) > 0; }};
  }
  std::vector<std::string> drain(Nanos now = secs(1)) {
    out.events.clear();
    memory->drain(now, identities(), out);
    return testing::describe(out);
  }
};

TEST_CASE("a record becomes the event of its kind, with process and thread filled in") {
  RingBench bench;
  bench.job.claim(42, 999);
  bench.job.put(FrameworkSeen::kKind, 5, {"torch", "2.1"});
  bench.job.put(Fetch::kKind, 6, {1, 2, 300, 40, 17, -1, 3, 1, 50}, 43);
  CHECK(bench.drain() ==
        std::vector<std::string>{
            "5 framework process=42 name='torch' version='2.1' rank=-1",
            "6 fetch thread=43 loader=1 epoch=2 duration=300 cpu=40 batch=17 worker=-1 ready=3 "
            "end=1 process_cpu=50 bytes=-1"});
  CHECK(bench.starts.at(0) == 999);
  CHECK(bench.drain().empty());
}

TEST_CASE("every kind the hook may write arrives with all its fields") {
  RingBench bench;
  bench.job.claim(1, 1);
  EventList wanted;
  for (const Event& event : testing::oneOfEachKind(wanted)) {
    std::vector<RingWriter::Value> values;
    const auto fill = [&](const auto& payload) {
      payload.fields(payload, [&]<class T>(const char*, const T& field) {
        if constexpr (std::is_same_v<T, StringId>)
          values.emplace_back(std::string(wanted.strings.at(field)));
        else if constexpr (std::is_same_v<T, Nanos>)
          values.emplace_back(std::int64_t{field.count()});
        else if constexpr (!requires { field.none(); })
          values.emplace_back(static_cast<std::int64_t>(field));
      });
      return payload.kKind;
    };
    const std::uint8_t kind = std::visit(fill, event.payload);
    const bool allowed =
        (kind >= 30 && kind < 40) || kind == Range::kKind || kind == 61 || kind == 62;
    if (!allowed) continue;
    wanted.events.push_back(event);
    REQUIRE(bench.job.put(kind, static_cast<std::uint64_t>(event.at.count()), values, 1));
  }
  REQUIRE(wanted.events.size() >= 9);
  CHECK(bench.drain() == testing::describe(wanted));
}

TEST_CASE("fewer values leave defaults, more are ignored") {
  RingBench bench;
  bench.job.claim(42, 1);
  bench.job.put(LoaderSeen::kKind, 5, {3});
  bench.job.put(OptimizerStep::kKind, 6, {10, 2, 77, 78});
  bench.drain();
  REQUIRE(bench.out.events.size() == 2);
  const auto loader = std::get<LoaderSeen>(bench.out.events[0].payload);
  CHECK(loader.loader == 3);
  CHECK(loader.batchSize == -1);
  CHECK(loader.inOrder);
  CHECK(std::get<OptimizerStep>(bench.out.events[1].payload).optimizer == 2);
}

TEST_CASE("records go round the ring many times, padded at its end") {
  RingBench bench;
  bench.job.claim(42, 1);
  std::size_t seen = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text(static_cast<std::size_t>(round) % 1000, 'x');
    REQUIRE(bench.job.put(FrameworkSeen::kKind, 5, {text, std::to_string(round)}));
    if (round % 7 != 0) continue;
    bench.drain();
    for (const Event& event : bench.out.events) {
      const auto framework = std::get<FrameworkSeen>(event.payload);
      REQUIRE(bench.out.strings.at(framework.version) == std::to_string(seen));
      REQUIRE(bench.out.strings.at(framework.name).size() == seen % 1000);
      ++seen;
    }
  }
  CHECK(seen > 2990);
}

TEST_CASE("padding shorter than a header is passed over") {
  for (const std::size_t left : {8u, 16u, 24u, 32u}) {
    RingBench bench;
    bench.job.claim(42, 1);
    // The first record ends `left` bytes before the end of the ring.
    for (std::size_t room = STALLPROF_RING_BYTES - left; room > 0;) {
      const std::size_t size = room > 2000 ? 1000 : room;
      std::string filler = RingWriter::record(0, 0, {});
      filler.resize(size);
      const auto bytes = static_cast<std::uint32_t>(size);
      std::memcpy(filler.data(), &bytes, sizeof bytes);
      bench.job.putRaw(filler);
      room -= size;
    }
    CHECK(bench.drain().empty());
    REQUIRE(bench.job.put(OptimizerStep::kKind, 6, {10, 2}));
    CHECK(bench.drain().size() == 1);
  }
}

TEST_CASE("what a full ring drops is counted once") {
  RingBench bench;
  bench.job.claim(42, 1);
  std::uint64_t dropped = 0;
  for (int i = 0; i < 3000; ++i) dropped += !bench.job.put(OptimizerStep::kKind, 6, {10, 2});
  REQUIRE(dropped > 0);
  bench.drain();
  REQUIRE(bench.out.events.size() == 3000 - dropped + 1);
  const auto loss = std::get<Loss>(bench.out.events[0].payload);
  CHECK(loss.kind == LossKind::kRingFull);
  CHECK(loss.count == dropped);
  CHECK(bench.drain().empty());
}

TEST_CASE("the slot of a process that ended is drained, then free for another") {
  RingBench bench;
  bench.job.claim(42, 1);
  bench.job.put(OptimizerStep::kKind, 6, {10, 2});
  CHECK(bench.drain(secs(1)).size() == 1);
  bench.job.put(OptimizerStep::kKind, 7, {10, 2});
  bench.gone.insert(42);
  CHECK(bench.drain(secs(3)).size() == 1);
  CHECK(bench.job.slot().owner == 0);
  CHECK(bench.job.slot().head == 0);
  bench.job.claim(43, 2);
  bench.job.put(OptimizerStep::kKind, 8, {10, 2}, 99);
  CHECK(bench.drain(secs(4)) ==
        std::vector<std::string>{"8 optimizer thread=99 duration=10 optimizer=2 steps=1"});
}

TEST_CASE("a slot that was taken and not counted is found within a minute, by turns") {
  RingBench bench;
  CHECK(bench.drain(secs(1)).empty());
  bench.job.slot(300).owner = 42;
  bench.job.slot(300).start_ticks = 1;
  bench.job.put(OptimizerStep::kKind, 6, {10, 2}, 7, 300);
  CHECK(bench.drain(secs(1) + std::chrono::milliseconds(80)).empty());
  std::size_t found = 0;
  for (int second = 2; second <= 65; ++second) found += bench.drain(secs(second)).size();
  CHECK(found == 1);
}

TEST_CASE("all slots taken is reported once, not at every drain") {
  RingBench bench;
  for (std::uint32_t i = 0; i < STALLPROF_MEMORY_SLOTS; ++i) bench.job.claim(i + 1, 1, i);
  CHECK(bench.drain(secs(1)).size() == 1);
  CHECK(std::get<Loss>(bench.out.events.at(0).payload).kind == LossKind::kRingSlots);
  CHECK(bench.drain(secs(2)).empty());
}

TEST_CASE("what cannot be a record is dropped with its slot's content, and counted") {
  const std::string good = RingWriter::record(OptimizerStep::kKind, 6, {10, 2});
  const auto withWord = [&](std::size_t offset, std::uint32_t word) {
    std::string bytes = good;
    std::memcpy(bytes.data() + offset, &word, sizeof word);
    return bytes;
  };
  const auto kindWord = [](std::uint32_t kind) { return kind | 2u << 16; };
  struct Case {
    const char* what;
    std::string bytes;
  };
  const Case cases[] = {
      {"a size of nothing", withWord(0, 0)},
      {"a size that is not aligned", withWord(0, 33)},
      {"a size past the head", withWord(0, 4096)},
      {"a size past the ring", withWord(0, 0xFFFFFFF8u)},
      {"a size below its header",
       RingWriter::record(OptimizerStep::kKind, 6, {}).replace(0, 1, "\x08")},
      {"a kind seen from outside", withWord(4, kindWord(ThreadSlice::kKind))},
      {"an identity", withWord(4, kindWord(ProcessSeen::kKind))},
      {"the end of the command", withWord(4, kindWord(CommandEnd::kKind))},
      {"a kind nobody knows", withWord(4, kindWord(59))},
      {"a kind past the table", withWord(4, kindWord(300))},
      {"a time that cannot be", RingWriter::record(OptimizerStep::kKind, ~0ull, {10, 2})},
      {"a text past its record", RingWriter::record(FrameworkSeen::kKind, 6, {100, 2})},
      {"a text past all", RingWriter::record(FrameworkSeen::kKind, 6, {-1, 2})},
      {"a text over the limit",
       RingWriter::record(FrameworkSeen::kKind, 6, {std::string(1025, 'x'), "y"})},
      {"values past its record",
       [&] {
         std::string bytes = RingWriter::record(OptimizerStep::kKind, 6, {10});
         bytes[6] = 2;
         return bytes;
       }()},
  };
  for (const Case& bad : cases) {
    RingBench bench;
    bench.job.claim(42, 1);
    bench.job.claim(43, 1, 1);
    bench.job.putRaw(good);
    bench.job.putRaw(bad.bytes);
    bench.job.putRaw(good, 1);
    bench.drain();
    INFO(bad.what);
    std::size_t steps = 0, damaged = 0;
    for (const Event& event : bench.out.events) {
      if (const auto* loss = std::get_if<Loss>(&event.payload))
        damaged += loss->kind == LossKind::kRingDamaged;
      steps += std::holds_alternative<OptimizerStep>(event.payload);
    }
    CHECK(damaged == 1);
    CHECK(steps == 2);  // the one before the damage, and the other process's
    bench.job.putRaw(good);
    CHECK(bench.drain().size() == 1);  // and it goes on
  }
}

TEST_CASE("a head that lies does not make the recorder read past the ring") {
  for (const std::uint64_t head :
       {std::uint64_t{STALLPROF_RING_BYTES} + 8, ~std::uint64_t{0}, std::uint64_t{3}}) {
    RingBench bench;
    bench.job.claim(42, 1);
    bench.job.slot().head = head;
    CHECK(bench.drain().size() == 1);
    CHECK(std::get<Loss>(bench.out.events.at(0).payload).kind == LossKind::kRingDamaged);
    CHECK(bench.drain().empty());
  }
}

TEST_CASE("enumerators and numbers out of range are kept in range") {
  RingBench bench;
  bench.job.claim(42, 1);
  bench.job.put(PhaseSpan::kKind, 5, {1, 200, 200, "x", "f", -7});
  bench.job.put(LoaderSeen::kKind, 5, {1ll << 40, "k", "b", "s", "d", 1ll << 40, -(1ll << 40)});
  bench.drain();
  REQUIRE(bench.out.events.size() == 2);
  const auto span = std::get<PhaseSpan>(bench.out.events[0].payload);
  CHECK(span.phase == Phase::kUnknown);
  CHECK(span.source == SpanSource::kHook);
  const auto loader = std::get<LoaderSeen>(bench.out.events[1].payload);
  CHECK(loader.loader == UINT32_MAX);
  CHECK(loader.workers == INT32_MAX);
  CHECK(loader.prefetch == INT32_MIN);
}

TEST_CASE("the event memory cannot be resized by who maps it") {
  RingBench bench;
  const Fd fd =
      openAt(AT_FDCWD, bench.memory->path(static_cast<std::uint32_t>(::getpid())).c_str(), O_RDWR);
  REQUIRE(fd.valid());
  CHECK(::ftruncate(fd.get(), 0) != 0);
  CHECK(errno == EPERM);
  CHECK(::ftruncate(fd.get(), 1 << 30) != 0);
  CHECK((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(bench.job.header().magic == STALLPROF_MEMORY_MAGIC);
  CHECK(bench.job.header().closed == 0);
  bench.memory->close();
  CHECK(bench.job.header().closed == 1);
}

TEST_CASE("a writer in another process and the recorder agree on every record") {
  RingBench bench;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  constexpr int kRecords = 20'000;
  if (child == 0) {
    RingWriter job(bench.memory->path(static_cast<std::uint32_t>(::getppid())));
    job.claim(static_cast<std::uint32_t>(::getpid()), 1);
    for (int i = 0; i < kRecords; ++i)
      while (!job.put(OptimizerStep::kKind, static_cast<std::uint64_t>(i) + 1, {i, i % 100}))
        ::sched_yield();
    ::_exit(0);
  }
  std::int64_t next = 0;
  int status = -1;
  for (bool ended = false; next < kRecords && !ended;) {
    ended = ::waitpid(child, &status, WNOHANG) == child;  // before the drain: it is the last one
    bench.drain();
    for (const Event& event : bench.out.events)
      if (const auto* step = std::get_if<OptimizerStep>(&event.payload)) {
        REQUIRE(step->duration.count() == next);
        REQUIRE(event.at.count() == next + 1);
        ++next;
      }
  }
  if (status == -1) ::waitpid(child, &status, 0);
  CHECK(next == kRecords);
  CHECK(status == 0);
}

}  // namespace
}  // namespace stallprof
