// SPDX-License-Identifier: MIT
// The seeds of the corpus: one of each kind of event in each form. Run with
//   fuzz_seeds --  and STALLPROF_CORPUS set to the directory to write to.
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "recording/decode.h"
#include "recording/format.h"
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

}  // namespace
}  // namespace stallprof
