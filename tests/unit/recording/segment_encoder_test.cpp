// SPDX-License-Identifier: MIT
#include "recording/format/segment_encoder.h"

#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"
#include "tests/unit/sampler/heap_bytes.h"

namespace stallprof {
namespace {

using testing::readAll;
using testing::sampleManifest;
using testing::TemporaryDirectory;

// A process with one thread, which says something after it has ended, as what is read late does.
std::vector<Event> lifeOf(std::uint32_t number) {
  const Nanos at(number);
  ProcessSeen process;
  process.process = ProcessId{number};
  process.pid = number;
  const ThreadId thread{number};
  return {{at, process},
          {at, ThreadSeen{thread, process.process, number, {}}},
          {at, ThreadGone{thread}},
          {at, ProcessGone{process.process}},
          {at, StackSlice{thread, {}, Nanos(5), 1}}};
}

TEST_CASE("processes and threads that ended take no memory, however long a segment is") {
  SegmentEncoder encoder(1u << 20, 128u << 10);
  std::uint32_t number = 0;
  const auto live = [&](int count) {
    for (int i = 0; i < count; ++i)
      for (const Event& event : lifeOf(++number)) {
        encoder.note(event);
        encoder.encode(event);
        while (!encoder.frames().empty()) encoder.popFrame();
      }
  };
  live(10'000);
  const std::size_t before = heapBytes();
  live(50'000);
  CHECK(heapBytes() < before + (2u << 20));
}

TEST_CASE("what a thread is said to have done after its end comes back, and it is announced once") {
  const TemporaryDirectory directory;
  EventList wanted;
  {
    auto writer = Writer::create(directory / "a.stallprof", sampleManifest());
    REQUIRE(writer.ok());
    for (std::uint32_t number : {1u, 2u})
      for (const Event& event : lifeOf(number)) {
        wanted.put(event);
        writer.value()->put(event);
      }
    writer.value()->close();
  }
  CHECK(readAll(directory / "a.stallprof").described() == testing::describe(wanted));
}

}  // namespace
}  // namespace stallprof
