// SPDX-License-Identifier: MIT
// The seeds of the corpus: one of each kind of event in each form. Run with
//   fuzz_seeds --  and STALLPROF_CORPUS set to the directory to write to.
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "activity_writer.h"
#include "recording/activity/activity_area.h"
#include "recording/format/format.h"
#include "recording/format/segment_decoder.h"
#include "ring_writer.h"
#include "sample_events.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::RingWriter;

std::string ringOf(std::uint64_t head, const std::string& records) {
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + records;
}

TEST_CASE("write the seeds") {
  const char* corpus = std::getenv("STALLPROF_CORPUS");
  REQUIRE(corpus != nullptr);
  const std::string to = corpus, work = to + "/work.stallprof";
  {
    auto writer = std::move(Writer::create(work, testing::sampleManifest())).value();
    for (const Event& event : testing::oneOfEachKind(*writer)) writer->put(event);
    writer->tick(std::chrono::seconds(1));
    for (const Event& event : testing::oneOfEachKind(*writer)) writer->put(event);
    writer->close();
  }
  const std::string segment = testing::slurp(work + "/events-000001.seg");
  testing::spit(to + "/recording/one_of_each", '\1' + segment);
  testing::spit(to + "/recording/checksums_kept", '\0' + segment);
  testing::spit(to + "/manifest/full", testing::slurp(work + "/manifest.json"));
  testing::spit(to + "/manifest/least",
                R"({"format": "stallprof.recording", "version": 1, "oldest_reader": 1})");
  std::filesystem::remove_all(work);

  format::FrameHeader events;
  const std::size_t manifest = sizeof(format::SegmentHeader);
  std::memcpy(&events, segment.data() + manifest, sizeof events);
  const std::size_t second = manifest + sizeof events + events.length;
  std::memcpy(&events, segment.data() + second, sizeof events);
  testing::spit(to + "/decode/one_of_each", segment.substr(second + sizeof events, events.length));

  std::string ring;
  ring += RingWriter::record(FrameworkSeen::kKind, 1, {"torch", "2.1"});
  ring += RingWriter::record(LoaderSeen::kKind, 2,
                             {1, "k", "auto", "fork", "d", 2, 2, 8, 9, 1, 0, 1, 0, "train.py", 12});
  ring += RingWriter::record(Fetch::kKind, 3, {1, 1, 300, 40, 17, -1, 3, 0, 50});
  ring += RingWriter::record(0, 0, {});
  ring += RingWriter::record(WorkerTask::kKind, 4, {9, 1, 3, 10, 20, 30, 5, 6, 700, 0, 0});
  ring += RingWriter::record(PhaseSpan::kKind, 5, {10, 7, 2, "torch.save", "train.py", 30});
  testing::spit(to + "/event_memory/records", ringOf(ring.size(), ring));
  testing::spit(to + "/event_memory/lying_head", ringOf(~0ull, ring));
}

// As fuzz target `activity` takes it apart.
std::string areaOf(const AreaControl& control, std::string names, std::string records) {
  const std::size_t third = std::max(names.size(), (records.size() + 1) / 2);
  names.resize(third);
  records.resize(2 * third);
  return std::string(reinterpret_cast<const char*>(&control), sizeof control) + names + records;
}

TEST_CASE("write the seeds of the activity memory") {
  const char* corpus = std::getenv("STALLPROF_CORPUS");
  REQUIRE(corpus != nullptr);
  constexpr std::uint64_t kSecond = 1'000'000'000, kEpoch = 1'700'000'000 * kSecond;
  const stallprof_name header{0x7f0000001000, 1, 8};
  const std::string names =
      std::string(reinterpret_cast<const char*>(&header), sizeof header) + "ncclDevK";
  for (const std::uint32_t version : {18u, 130000u}) {
    AreaControl control;
    control.owner = 42;
    control.state = STALLPROF_AGENT_TRACING;
    control.cuptiVersion = version;
    control.flushed = 11 * kSecond;
    control.clockHead = 2;
    control.clock[0] = {10 * kSecond, kEpoch, 100};
    control.clock[1] = {11 * kSecond, kEpoch + kSecond, 100};
    control.switchHead = 1;
    control.onoff[0] = {10 * kSecond, 7, 0};
    testing::CuptiBytes records(version);
    records.device(0, 1, 7)
        .kernel({kEpoch, kEpoch + 5000}, 1)
        .copy({kEpoch + 6000, kEpoch + 7000}, 4096, 1, 1)
        .peerCopy({kEpoch + 7000, kEpoch + 8000}, 4096)
        .set({kEpoch + 8000, kEpoch + 9000}, 4096)
        .call({kEpoch, kEpoch + 500'000}, 211, 43)
        .sync({kEpoch, kEpoch + 9000}, 3)
        .graph({kEpoch + 9000, kEpoch + 9900})
        .overhead({kEpoch, kEpoch + 100}, 1 << 16, 43);
    testing::spit(std::string(corpus) + "/activity/cupti_" + std::to_string(version),
                  areaOf(control, names, records.bytes()));
  }
}

}  // namespace
}  // namespace stallprof
