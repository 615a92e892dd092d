// SPDX-License-Identifier: MIT
// What a reader makes of recordings that are cut, flipped, copied, of another version, or none.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "recording/format/format.h"
#include "recording/format/segment_encoder.h"
#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::readAll;
using testing::slurp;
using testing::spit;
using testing::TemporaryDirectory;
using testing::tryRead;

constexpr const char* kFirst = "/events-000001.seg";

// Ten frames of events of one thread, and the end of each frame in the file.
std::vector<std::size_t> writeSample(const std::string& path) {
  auto writer = std::move(Writer::create(path, testing::sampleManifest())).value();
  std::vector<std::size_t> ends;
  writer->emit(Nanos(1), ProcessSeen{{1}, {}, 7, 9, writer->intern("python"), {}, {}});
  writer->emit(Nanos(2), ThreadSeen{{1}, {1}, 7, writer->intern("main")});
  for (int second = 1; second <= 10; ++second) {
    for (int i = 0; i < 3; ++i)
      writer->emit(Nanos(second * 1000 + i),
                   SyscallCount{writer->intern("call " + std::to_string(second)), i});
    writer->tick(std::chrono::seconds(2 * second));
    ends.push_back(static_cast<std::size_t>(std::filesystem::file_size(path + kFirst)));
  }
  writer->close();
  return ends;
}

std::size_t lines(const std::vector<std::string>& all, const std::vector<std::string>& wanted) {
  std::size_t same = 0;
  while (same < all.size() && same < wanted.size() && all[same] == wanted[same]) ++same;
  return same;
}

TEST_CASE("a recording cut at any byte gives every whole frame before the cut") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  const auto ends = writeSample(path);
  const std::string whole = slurp(path + kFirst);
  const auto wanted = readAll(path).described();
  REQUIRE(wanted.size() == 32);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    spit(path + kFirst, whole.substr(0, cut));
    const auto reading = readAll(path);
    std::size_t frames = 0;
    while (frames < ends.size() && ends[frames] <= cut) ++frames;
    const std::size_t events = frames == 0 ? 0 : 2 + 3 * frames;
    INFO("cut at " << cut << ", " << frames << " whole frames");
    REQUIRE(lines(reading.described(), wanted) == events);
    // Besides them, at most the word that the end is torn.
    REQUIRE(reading.events.size() - events == reading.countOf(LossKind::kFrameTorn));
    REQUIRE(reading.events.size() - events <= 1);
    REQUIRE_FALSE(reading.summary.cleanEnd);
  }
}

TEST_CASE("one changed byte costs at most its own frame, and is reported") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  const std::string whole = slurp(path + kFirst);
  const auto before = readAll(path);
  const auto wanted = before.described();
  const std::string manifest = manifestToJson(before.summary.manifest);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x00, 0xFF, 0x100}) {
      // Each takes time: a flipped bit in all bytes, the other two by turns.
      if (change != 0x100 && (at % 2 == 0) != (change == 0)) continue;
      std::string bytes = whole;
      bytes[at] = static_cast<char>(change == 0x100 ? bytes[at] ^ 1 : change);
      if (bytes == whole) continue;
      spit(path + kFirst, bytes);
      const auto reading = readAll(path);
      INFO("byte " << at << " as " << change);
      const auto described = reading.described();
      std::size_t found = 0;
      for (const std::string& line : wanted)
        found += std::count(described.begin(), described.end(), line) == 1;
      // The first frame holds five events (two identities), the others three.
      REQUIRE(found + 5 >= wanted.size());
      const bool inEnd = at + 24 >= whole.size();
      REQUIRE((reading.countOf(LossKind::kFrameDamaged) > 0 || inEnd));
      REQUIRE(reading.summary.lostBytes > 0);
      REQUIRE(manifestToJson(reading.summary.manifest) == manifest);
    }
  }
}

TEST_CASE("one changed byte of the manifest changes nothing: segments hold a copy") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  const auto wanted = readAll(path);
  const std::string whole = slurp(path + "/manifest.json");
  const std::string manifest = manifestToJson(wanted.summary.manifest);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const char flipped = static_cast<char>(whole[at] ^ 1);
    for (const char change : {'\0', '\xFF', flipped}) {
      if (change != flipped && (at % 2 == 0) != (change == '\0')) continue;
      std::string bytes = whole;
      bytes[at] = change;
      spit(path + "/manifest.json", bytes);
      Strings strings;
      std::size_t events = 0;
      const auto summary = readRecording(path, strings, [&](const Event&) { ++events; });
      INFO("byte " << at << " as " << +change);
      if (!summary.ok()) {  // a version that became another: refused by design
        REQUIRE(summary.error().kind == Error::Kind::kUnsupported);
        continue;
      }
      REQUIRE(events == wanted.events.size());
      REQUIRE(manifestToJson(summary.value().manifest) == manifest);
    }
  }
}

TEST_CASE("a missing manifest file is made up for by the segments") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  std::filesystem::remove(path + "/manifest.json");
  const auto reading = readAll(path);
  CHECK(reading.events.size() == 32);
  CHECK(reading.summary.manifest.host.name == "node1");
}

// ---- copies, holes, several segments ---------------------------------------------------------

// A recording of several small segments, about a frame each.
std::size_t writeSegments(const std::string& path) {
  Writer::Options options;
  options.segmentBytes = 4096;
  auto writer = std::move(Writer::create(path, testing::sampleManifest(), options)).value();
  writer->emit(Nanos(1), ProcessSeen{{1}, {}, 7, 9, writer->intern("python"), {}, {}});
  writer->emit(Nanos(2), ThreadSeen{{1}, {1}, 7, writer->intern("main")});
  for (int i = 0; i < 2000; ++i)
    writer->emit(Nanos(1000 + i),
                 ThreadSlice{{1}, Wait::kPipe, Nanos(i), {}, {}, writer->intern("pipe"), 1});
  writer->close();
  std::size_t segments = 0;
  while (std::filesystem::exists(path + "/" +
                                 format::segmentName(static_cast<std::uint32_t>(segments + 1))))
    ++segments;
  return segments;
}

TEST_CASE("each segment can be read alone: strings, process and thread are in it") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  const std::size_t segments = writeSegments(path);
  REQUIRE(segments >= 4);
  CHECK(readAll(path).all<ThreadSlice>().size() == 2000);
  for (std::uint32_t keep = 1; keep < segments; ++keep) {
    const std::string alone = directory / ("alone" + std::to_string(keep));
    std::filesystem::create_directory(alone);
    std::filesystem::copy(path + "/" + format::segmentName(keep), alone);
    const auto reading = readAll(alone);
    REQUIRE(reading.all<ProcessSeen>().size() == 1);
    REQUIRE(reading.all<ThreadSeen>().size() == 1);
    REQUIRE(reading.strings.at(reading.all<ThreadSeen>()[0].name) == "main");
    REQUIRE(reading.strings.at(reading.all<ProcessSeen>()[0].comm) == "python");
    for (const ThreadSlice& slice : reading.all<ThreadSlice>())
      REQUIRE(reading.strings.at(slice.what) == "pipe");
    REQUIRE(reading.countOf(LossKind::kSegmentMissing) == (keep == 1 ? 0 : 1));
  }
}

TEST_CASE("a copied or swapped segment does not count twice") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  const std::size_t segments = writeSegments(path);
  const auto name = [&](std::size_t n) {
    return path + "/" + format::segmentName(static_cast<std::uint32_t>(n));
  };
  std::filesystem::copy(name(1), name(segments + 1));
  const auto copied = readAll(path);
  CHECK(copied.all<ThreadSlice>().size() == 2000);
  CHECK(copied.countOf(LossKind::kFrameDamaged) > 0);
  std::filesystem::remove(name(segments + 1));
  std::filesystem::rename(name(2), path + "/x");
  std::filesystem::rename(name(3), name(2));
  std::filesystem::rename(path + "/x", name(3));
  const auto swapped = readAll(path);
  CHECK(swapped.all<ThreadSlice>().size() < 2000);
  CHECK(swapped.countOf(LossKind::kFrameDamaged) > 0);
}

TEST_CASE("junk between frames is passed over") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  const auto ends = writeSample(path);
  std::string bytes = slurp(path + kFirst);
  std::string junk(100'000, 'x');
  for (std::size_t i = 0; i + 4 < junk.size(); i += 1000) junk.replace(i, 4, "\xF6\x5A\xA5\xF5");
  bytes.insert(ends[3], junk);
  spit(path + kFirst, bytes);
  const auto reading = readAll(path);
  CHECK(reading.all<SyscallCount>().size() == 30);
  CHECK(reading.summary.lostBytes == 100'000);
}

// ---- hostile content under good checksums ------------------------------------------------------

std::string frame(std::uint32_t sequence, const std::string& payload) {
  const auto header = format::frameHeader(format::FrameType::kEvents, sequence, payload);
  return std::string(format::bytesOf(header)) + payload;
}

// A recording of one segment with these payloads.
testing::Reading readPayloads(const std::vector<std::string>& payloads) {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  std::filesystem::create_directory(path);
  spit(path + "/manifest.json", manifestToJson(testing::sampleManifest()));
  std::string bytes(format::bytesOf(format::segmentHeader(1)));
  std::uint32_t sequence = 0;
  for (const std::string& payload : payloads) bytes += frame(++sequence, payload);
  spit(path + kFirst, bytes);
  return readAll(path);
}

std::string varints(std::initializer_list<std::uint64_t> values) {
  std::string out;
  for (std::uint64_t value : values) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }
  return out;
}

std::string record(std::uint8_t kind, const std::string& body) {
  return static_cast<char>(kind) + varints({body.size()}) + body;
}

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

TEST_CASE("a shorter record leaves defaults, a longer one is read to its known end") {
  const auto reading = readPayloads({record(LoaderSeen::kKind, varints({0, 1, 3})) +
                                     record(ThreadGone::kKind, varints({2, 4, 99, 98, 97}))});
  REQUIRE(reading.events.size() == 2);
  const LoaderSeen loader = reading.all<LoaderSeen>().at(0);
  CHECK(loader.loader == 3);
  CHECK(loader.batchSize == -1);
  CHECK(loader.inOrder);
  CHECK(reading.all<ThreadGone>().at(0).thread == ThreadId{4});
  CHECK(reading.events[1].at == Nanos(1));
}

TEST_CASE("an event of a later version is skipped, counted, and keeps the time of the next") {
  const auto reading = readPayloads(
      {record(200, varints({20, 1, 2})) + record(ProcessGone::kKind, varints({4, 1}))});
  CHECK(reading.countOf(LossKind::kEventUnknown) == 1);
  REQUIRE(reading.all<ProcessGone>().size() == 1);
  CHECK(reading.events[0].at == Nanos(12));
}

TEST_CASE("values too large for their field saturate, unknown enumerators keep the default") {
  const auto reading = readPayloads(
      {record(SignalForwarded::kKind, varints({0, kHuge - 1, kHuge})) +
       record(PhaseSpan::kKind, varints({0, 1, 0, 200, 200})) +
       record(ThreadSeen::kKind, varints({0, kHuge, format::kIdentityLimit + 1, kHuge}))});
  REQUIRE(reading.events.size() == 3);
  CHECK(reading.all<SignalForwarded>()[0].signal == INT32_MAX);
  CHECK(reading.all<SignalForwarded>()[0].forwarded);
  CHECK(reading.all<PhaseSpan>()[0].phase == Phase::kUnknown);
  CHECK(reading.all<PhaseSpan>()[0].source == SpanSource::kHook);
  CHECK(reading.all<ThreadSeen>()[0].thread.value == format::kIdentityLimit);
  CHECK(reading.all<ThreadSeen>()[0].process.value == format::kIdentityLimit);
  CHECK(reading.all<ThreadSeen>()[0].tid == UINT32_MAX);
}

TEST_CASE("lengths and numbers that cannot be are damage, not memory") {
  for (const std::string& payload :
       {record(0, varints({kHuge}) + "text"),                         // a string's number
        record(0, varints({0}) + "text"), record(0, ""),              // none
        std::string("\x01") + varints({kHuge}), std::string("\x01"),  // a record's length
        record(ThreadSlice::kKind, "\xFF\xFF"),                       // a number cut off
        record(ThreadSlice::kKind, std::string(11, '\xFF')),          // longer than 64 bits
        std::string(1000, '\xFF'), std::string("\x00\x80", 2)}) {
    const auto reading = readPayloads({payload, record(ProcessGone::kKind, varints({0, 1}))});
    CHECK(reading.countOf(LossKind::kFrameDamaged) == 1);
    CHECK(reading.all<ProcessGone>().size() == 1);
  }
}

TEST_CASE("a string whose definition was lost reads as lost") {
  const auto reading = readPayloads({record(0, varints({3}) + "third") +
                                     record(SyscallCount::kKind, varints({0, 2, 0})) +
                                     record(SyscallCount::kKind, varints({0, 3, 0})) +
                                     record(SyscallCount::kKind, varints({0, 77, 0}))});
  const auto calls = reading.all<SyscallCount>();
  REQUIRE(calls.size() == 3);
  CHECK(reading.strings.at(calls[0].name) == "(lost)");
  CHECK(reading.strings.at(calls[1].name) == "third");
  CHECK(reading.strings.at(calls[2].name) == "(lost)");
}

TEST_CASE("a frame that claims more than there is does not hide the frames behind it") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  const auto ends = writeSample(path);
  std::string bytes = slurp(path + kFirst);
  auto header = format::frameHeader(format::FrameType::kEvents, 3, std::string(900'000, 'x'));
  bytes.insert(ends[1], std::string(format::bytesOf(header)));
  spit(path + kFirst, bytes);
  const auto reading = readAll(path);
  CHECK(reading.all<SyscallCount>().size() == 30);
  CHECK(reading.countOf(LossKind::kFrameDamaged) == 1);
}

// ---- refusals
// ------------------------------------------------------------------------------------

std::string refusal(const std::string& path) {
  const auto summary = tryRead(path);
  REQUIRE_FALSE(summary.ok());
  CHECK(summary.error().message.find('\n') == std::string::npos);
  return summary.error().message;
}

TEST_CASE("a recording of a later version is refused in one line that names the versions") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  SECTION("said by the manifest") {
    std::string json = slurp(path + "/manifest.json");
    json.replace(json.find("\"oldest_reader\": 1"), 18, "\"oldest_reader\": 9");
    json.replace(json.find("\"version\": 1"), 12, "\"version\": 9");
    spit(path + "/manifest.json", json);
  }
  SECTION("said by a segment") {
    auto header = format::segmentHeader(1);
    header.version = header.oldestReader = 9;
    std::string bytes = slurp(path + kFirst);
    header.crc = format::checksumOf(header);
    bytes.replace(0, sizeof header, format::bytesOf(header));
    spit(path + kFirst, bytes);
  }
  const std::string message = refusal(path);
  CHECK(message.find("recording format 9 needs a stallprof that reads format 9 or newer; this one "
                     "reads up to 1") != std::string::npos);
  CHECK(tryRead(path).error().kind == Error::Kind::kUnsupported);
}

TEST_CASE("a later version that we can read is read") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  auto header = format::segmentHeader(1);
  header.version = 9;
  header.crc = format::checksumOf(header);
  std::string bytes = slurp(path + kFirst);
  spit(path + kFirst, bytes.replace(0, sizeof header, format::bytesOf(header)));
  CHECK(readAll(path).events.size() == 32);
}

TEST_CASE("what is no recording is refused in one line") {
  const TemporaryDirectory directory;
  CHECK(refusal(directory / "none").find("No such file or directory") != std::string::npos);
  CHECK(refusal(directory.path()).find("not a stallprof recording") != std::string::npos);
  spit(directory / "file", "text");
  CHECK(refusal(directory / "file").find("Not a directory") != std::string::npos);
  std::filesystem::create_directory(directory / "json");
  for (const char* text : {"", "{}", "[]", "null", "{\"format\": 3}", "\xFF", "{\"format\":"}) {
    spit(directory / "json/manifest.json", text);
    CHECK(refusal(directory / "json").find("not the manifest of a stallprof recording") !=
          std::string::npos);
  }
  spit(directory / "json/manifest.json", std::string(4'000'000, '['));
  CHECK_FALSE(tryRead(directory / "json").ok());
}

TEST_CASE("links, pipes and directories in a recording are not opened") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  std::filesystem::rename(path + kFirst, directory / "elsewhere");
  SECTION("a link") { std::filesystem::create_symlink(directory / "elsewhere", path + kFirst); }
  SECTION("a pipe") { REQUIRE(::mkfifo((path + kFirst).c_str(), 0600) == 0); }
  SECTION("a directory") { std::filesystem::create_directory(path + kFirst); }
  const auto reading = readAll(path);
  CHECK(reading.countOf(LossKind::kSegmentMissing) == 1);
  CHECK(reading.events.size() == 1);
}

TEST_CASE("an empty recording, one manifest and no segment, is read as such") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.stallprof";
  writeSample(path);
  std::filesystem::remove(path + kFirst);
  const auto reading = readAll(path);
  CHECK(reading.events.empty());
  CHECK_FALSE(reading.summary.cleanEnd);
  CHECK(reading.summary.manifest.hz == 100);
}

}  // namespace
}  // namespace stallprof
