// SPDX-License-Identifier: MIT
#include "recording/follower.h"

#include <filesystem>

#include "recording/writer.h"
#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::TemporaryDirectory;

// Everything a follower gives, with the names it would print.
struct Followed {
  explicit Followed(const std::string& path)
      : follower(std::move(RecordingFollower::open(path, strings, take)).value()) {}
  std::size_t more() {
    const std::size_t before = events.size();
    REQUIRE(follower.advance().ok());
    return events.size() - before;
  }
  Strings strings;
  std::vector<Event> events;
  std::function<void(const Event&)> take = [this](const Event& event) { events.push_back(event); };
  RecordingFollower follower;
};

void emitSecond(Writer& writer, int second) {
  for (int i = 0; i < 3; ++i)
    writer.emit(std::chrono::seconds(second) + Nanos(i),
                SyscallCount{writer.intern("call " + std::to_string(second)), i});
  writer.tick(std::chrono::seconds(second + 2));
}

}  // namespace

TEST_CASE("a follower gives what was added since its last poll") {
  TemporaryDirectory scratch;
  const std::string path = scratch / "r.stallprof";
  auto writer = std::move(Writer::create(path, testing::sampleManifest())).value();
  emitSecond(*writer, 1);
  Followed followed(path);
  const std::size_t first = followed.more();
  CHECK(first >= 3);
  REQUIRE(followed.follower.manifest());
  CHECK(followed.follower.manifest()->command == testing::sampleManifest().command);
  CHECK(followed.more() == 0);
  emitSecond(*writer, 5);
  emitSecond(*writer, 9);
  CHECK(followed.more() >= 6);
  CHECK_FALSE(followed.follower.ended());
  writer->close();
  (void)followed.more();
  CHECK(followed.follower.ended());
  const auto& last = std::get<SyscallCount>(followed.events.back().payload);
  CHECK(followed.strings.at(last.name) == "call 9");
}

TEST_CASE("a follower goes on from segment to segment") {
  TemporaryDirectory scratch;
  const std::string path = scratch / "r.stallprof";
  Writer::Options options;
  options.segmentBytes = 2048;
  auto writer = std::move(Writer::create(path, testing::sampleManifest(), options)).value();
  Followed followed(path);
  std::size_t calls = 0;
  for (int second = 1; second <= 60; ++second) {
    emitSecond(*writer, 3 * second);
    if (second % 7 == 0) (void)followed.more();
  }
  writer->close();
  (void)followed.more();
  for (const Event& event : followed.events)
    calls += std::holds_alternative<SyscallCount>(event.payload);
  CHECK(calls == 180);
  CHECK(std::filesystem::exists(path + "/events-000002.seg"));
  CHECK(followed.follower.ended());
}

TEST_CASE("a frame that is not all there yet is given once it is") {
  TemporaryDirectory scratch;
  const std::string path = scratch / "r.stallprof";
  auto writer = std::move(Writer::create(path, testing::sampleManifest())).value();
  emitSecond(*writer, 1);
  writer->close();
  const std::string segment = path + "/events-000001.seg";
  const std::string whole = testing::slurp(segment);
  testing::spit(segment, whole.substr(0, whole.size() - 40));  // the end frame and a little more
  Followed followed(path);
  const std::size_t first = followed.more();
  CHECK(followed.more() == 0);
  testing::spit(segment, whole);
  CHECK(first + followed.more() >= 3);
  CHECK(followed.follower.ended());
}

TEST_CASE("what is no recording is refused, and an empty directory has nothing to give") {
  TemporaryDirectory scratch;
  Strings strings;
  const std::function<void(const Event&)> take = [](const Event&) {};
  CHECK_FALSE(RecordingFollower::open(scratch / "nosuch", strings, take).ok());
  auto follower = RecordingFollower::open(scratch.path(), strings, take);
  REQUIRE(follower.ok());
  CHECK(follower.value().advance().ok());
  CHECK_FALSE(follower.value().manifest());
}

}  // namespace stallprof
