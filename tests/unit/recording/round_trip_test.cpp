// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <filesystem>

#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::describe;
using testing::readAll;
using testing::sampleManifest;
using testing::TemporaryDirectory;

std::unique_ptr<Writer> makeWriter(const std::string& path, Writer::Options options = {}) {
  auto writer = Writer::create(path, sampleManifest(), options);
  REQUIRE(writer.ok());
  return std::move(writer).value();
}

TEST_CASE("every kind of event comes back as it was written, in order") {
  const TemporaryDirectory directory;
  EventList wanted;
  {
    auto writer = makeWriter(directory / "a.stallprof");
    for (const Event& event : testing::oneOfEachKind(*writer)) writer->put(event);
    writer->close();
  }
  wanted.events = testing::oneOfEachKind(wanted);
  const auto reading = readAll(directory / "a.stallprof");
  CHECK(reading.described() == testing::describe(wanted));
  CHECK(reading.summary.cleanEnd);
  CHECK(reading.summary.lostBytes == 0);
}

TEST_CASE("the manifest comes back as it was written") {
  const TemporaryDirectory directory;
  makeWriter(directory / "a.stallprof")->close();
  const Manifest read = readAll(directory / "a.stallprof").summary.manifest;
  CHECK(manifestToJson(read) == manifestToJson(sampleManifest()));
  CHECK(read.host.coresUsable == 3.5);
  CHECK(read.command.at(1) == Untrusted("train.py"));
}

TEST_CASE("times before, after and far from each other survive delta coding") {
  const TemporaryDirectory directory;
  const std::vector<Nanos> times = {Nanos(0),     Nanos(-1),        Nanos::max(),
                                    Nanos::min(), Nanos(123456789), Nanos::max()};
  {
    auto writer = makeWriter(directory / "a.stallprof");
    for (const Nanos at : times) writer->emit(at, SyscallCount{writer->intern("read"), 7});
    writer->close();
  }
  std::vector<Nanos> read;
  for (const Event& event : readAll(directory / "a.stallprof").events) read.push_back(event.at);
  CHECK(read == times);
}

TEST_CASE("a recording without a clean end is whole up to its last flush") {
  const TemporaryDirectory directory;
  auto writer = makeWriter(directory / "a.stallprof");
  writer->tick(Nanos(1));
  writer->emit(Nanos(10), SyscallCount{writer->intern("read"), 1});
  writer->tick(std::chrono::seconds(2));
  writer->emit(Nanos(20), SyscallCount{writer->intern("read"), 2});
  const auto reading = readAll(directory / "a.stallprof");
  CHECK_FALSE(reading.summary.cleanEnd);
  CHECK(reading.described() == std::vector<std::string>{"10 syscalls name='read' count=1"});
}

TEST_CASE("a stack is reported with its callers in each segment that uses it, outermost first") {
  const TemporaryDirectory directory;
  const std::uint32_t deep = 1500;
  {
    Writer::Options options;
    options.segmentBytes = 128 << 10;
    auto writer = makeWriter(directory / "a.stallprof", options);
    const StringId name = writer->intern("recurse"), file = writer->intern("a.py");
    for (std::uint32_t i = 1; i <= deep; ++i)
      writer->emit(Nanos(i), StackSeen{StackId{i}, StackId{i - 1}, name, file, 10 + i});
    for (int second = 1; second <= 200; ++second) {
      for (int i = 0; i < 400; ++i)
        writer->emit(Nanos(1000 + i), StackSlice{ThreadId{1}, StackId{deep - 1}, Nanos(5), 1});
      writer->tick(std::chrono::seconds(2 * second));
    }
    writer->close();
  }
  std::filesystem::remove(directory / "a.stallprof/events-000001.seg");
  REQUIRE(std::filesystem::exists(directory / "a.stallprof/events-000003.seg"));
  const auto reading = readAll(directory / "a.stallprof");
  std::uint32_t emitted = 0;
  for (const StackSeen& stack : reading.all<StackSeen>()) {
    if (stack.stack.value == 1) emitted = 0;
    CHECK(stack.stack.value == ++emitted);  // the next segment begins again
    CHECK(stack.caller.value == stack.stack.value - 1);
    CHECK(stack.line == 10 + stack.stack.value);
  }
  CHECK(emitted == deep - 1);  // nothing used the innermost one again
  CHECK(reading.strings.size() > 2);
}

TEST_CASE("the progress of a reader follows the events that it has passed on") {
  const TemporaryDirectory directory;
  constexpr int kEvents = 60'000;
  {
    Writer::Options options;
    options.segmentBytes = 128 << 10;
    auto writer = makeWriter(directory / "a.stallprof", options);
    for (int i = 1; i <= kEvents; ++i) {
      writer->emit(Nanos(i), StackSlice{ThreadId{1}, {}, Nanos(1'000'000'007ll * i), 1});
      if (i % 1000 == 0) writer->tick(std::chrono::seconds(i / 500));
    }
    writer->close();
  }
  REQUIRE(std::filesystem::exists(directory / "a.stallprof/events-000004.seg"));
  Strings strings;
  int passed = 0;
  RecordingReader reader(directory / "a.stallprof", strings, [&](const Event&) { ++passed; });
  CHECK(reader.progress() == 0);
  double before = 0, farthest = 0;
  for (;;) {
    const Result<bool> more = reader.next();
    REQUIRE(more.ok());
    if (!more.value()) break;
    CHECK(reader.progress() >= before);
    before = reader.progress();
    farthest = std::max(farthest, std::abs(before - static_cast<double>(passed) / kEvents));
  }
  CHECK(passed == kEvents);
  CHECK(reader.progress() == 1);
  CHECK(farthest < 0.25);  // segments differ in size, and a part is read ahead
}

TEST_CASE("only the user may enter and read a recording, whatever the umask") {
  const TemporaryDirectory directory;
  for (const mode_t mask : {0000u, 0022u, 0777u}) {
    const mode_t before = ::umask(mask);
    auto writer = makeWriter(directory / std::to_string(mask));
    ::umask(before);
    struct stat status {};
    REQUIRE(::stat((directory / std::to_string(mask)).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
    for (const char* name : {"/manifest.json", "/events-000001.seg"}) {
      REQUIRE(::stat((directory / std::to_string(mask) + name).c_str(), &status) == 0);
      CHECK((status.st_mode & 07777) == 0600);
    }
  }
}

}  // namespace
}  // namespace stallprof
