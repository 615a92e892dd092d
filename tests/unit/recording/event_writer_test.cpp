// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <string>

#include "recording/memory/event_memory.h"
#include "recording/memory/ring.h"
#include "ring_writer.h"
#include "sample_events.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::RingWriter;

// An event memory and this process's writer of it.
struct WriterBench {
  std::unique_ptr<EventMemory> memory = std::move(EventMemory::create()).value();
  std::string path = memory->path(static_cast<std::uint32_t>(::getpid()));
  RingWriter job{path};
  stallprof_event_writer writer{};
  EventList out;

  WriterBench() { REQUIRE(stallprof_writer_open(&writer, path.c_str()) == 1); }
  ~WriterBench() { ::munmap(writer.memory, STALLPROF_MEMORY_BYTES); }

  void put(const std::string& framework, std::uint64_t at = 5) {
    const stallprof_value values[] = {{framework.size(), framework.c_str()}, {0, ""}};
    stallprof_writer_put(&writer, FrameworkSeen::kKind, at, 7, values, 2);
  }
  std::vector<std::string> drain() {
    out.events.clear();
    const EventMemory::Identities identities{
        [](std::uint32_t, std::uint64_t) { return ProcessId{1}; },
        [](ProcessId, std::uint32_t tid) { return ThreadId{tid}; },
        [](std::uint32_t, std::uint64_t) { return false; }};
    memory->drain(std::chrono::seconds(1), identities, out);
    return testing::describe(out);
  }
};

TEST_CASE("a written record is read as its event, whatever the length of its texts") {
  WriterBench bench;
  for (const std::string name : {"", "a", "seven77", "eight888", "nine99999"}) {
    bench.put(name);
    CHECK(bench.drain() ==
          std::vector<std::string>{"5 framework process=1 name='" + name + "' version='' rank=-1"});
  }
  CHECK(bench.writer.slot->owner == static_cast<std::uint32_t>(::getpid()));
  CHECK(bench.writer.slot->start_ticks == stallprof_start_ticks());
  CHECK(stallprof_start_ticks() > 0);
}

TEST_CASE("records go on over the end of the ring") {
  WriterBench bench;
  std::size_t read = 0;
  for (int i = 0; i < 3000; ++i) {  // of 56 to 80 bytes: three times around, padding of all sizes
    bench.put(std::string(static_cast<std::size_t>(i % 4) * 8, 'x'));
    if (i % 16 == 15) read += bench.drain().size();
  }
  CHECK(bench.writer.slot->head > 2 * std::uint64_t{STALLPROF_RING_BYTES});
  CHECK(read + bench.drain().size() == 3000);
  CHECK(bench.writer.slot->dropped == 0);
}

TEST_CASE("a full ring drops the new record and counts it; a tail that cannot be is no room") {
  WriterBench bench;
  const std::string text(STALLPROF_TEXT_LIMIT, 'x');
  for (int i = 0; i < 70; ++i) bench.put(text);
  const std::uint64_t stored = bench.writer.slot->head / (24 + 8 + STALLPROF_TEXT_LIMIT + 8);
  CHECK(stored == STALLPROF_RING_BYTES / (24 + 8 + STALLPROF_TEXT_LIMIT + 8));
  CHECK(bench.writer.slot->dropped == 70 - stored);
  bench.writer.slot->tail = bench.writer.slot->head + 8;
  bench.put("a");
  CHECK(bench.writer.slot->dropped == 71 - stored);
}

TEST_CASE("with all slots taken a free one is searched for after so many puts") {
  WriterBench bench;
  for (std::size_t i = 0; i < STALLPROF_MEMORY_SLOTS; ++i) bench.job.claim(1, 1, i);
  bench.put("a");
  bench.job.claim(0, 0, 100);
  for (std::uint32_t i = 0; i < STALLPROF_SLOT_RETRY; ++i) bench.put("a");
  CHECK(bench.writer.slot == nullptr);
  bench.put("a");
  CHECK(bench.writer.slot != nullptr);
  CHECK(bench.job.slot(100).owner == static_cast<std::uint32_t>(::getpid()));
}

TEST_CASE("a forked child claims a slot of its own") {
  WriterBench bench;
  bench.put("a");
  const stallprof_slot* first = bench.writer.slot;
  stallprof_writer_forget_slot(&bench.writer);
  bench.put("b");
  CHECK(bench.writer.slot != first);
}

TEST_CASE("only an open event memory of this version is taken") {
  WriterBench bench;
  stallprof_event_writer other{};
  CHECK(stallprof_writer_open(&other, "/tmp/memory") == 0);
  CHECK(stallprof_writer_open(&other, "/proc/self/exe") == 0);
  bench.writer.memory->closed = 1;
  CHECK(stallprof_writer_open(&other, bench.path.c_str()) == 0);
  CHECK_FALSE(stallprof_writer_is_open(&bench.writer));
  bench.put("a");
  CHECK(bench.writer.slot == nullptr);
}

}  // namespace
}  // namespace stallprof
