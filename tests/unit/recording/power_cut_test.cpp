// SPDX-License-Identifier: MIT
// A disk that forgets: at a power cut whatever was not synced is there, in part or not at all.
#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

#include "recording/reader.h"
#include "recording/storage.h"
#include "recording/writer.h"
#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::TemporaryDirectory;

using secs = std::chrono::seconds;

// What was done to one file since it was last synced, on top of what is safe.
struct Content {
  struct Step {
    std::uint64_t offset = 0;  // of a truncation: the size
    std::string bytes;
    bool truncates = false;
  };
  std::string safe;
  std::vector<Step> since;
  bool synced = false;  // else the file itself may be gone
};
using Disk = std::map<std::string, Content>;

void apply(std::string& bytes, const Content::Step& step, std::size_t maximum) {
  if (step.truncates) return bytes.resize(std::min<std::size_t>(bytes.size(), step.offset));
  const std::size_t size = std::min(step.bytes.size(), maximum);
  bytes.resize(std::max<std::size_t>(bytes.size(), step.offset + size));
  bytes.replace(step.offset, size, step.bytes, 0, size);
}

// Does all of it for real too, and keeps the disk as it was before each call.
struct ForgettingStorage final : Storage {
  std::mutex mutex;  // the writer syncs from a thread of its own
  std::map<int, std::string> names;
  Disk disk;
  std::vector<Disk> before;  // index: the cut

  template <class Action>
  void change(Action action) {
    const std::lock_guard lock(mutex);
    before.push_back(disk);
    action();
  }
  int makeFile(int directory, const std::string& name, Fd& file) override {
    const int error = Storage::makeFile(directory, name, file);
    if (error != 0) return error;
    change([&] {
      names[file.get()] = name;
      disk[name] = {};
    });
    return 0;
  }
  int write(int file, std::string_view bytes, std::uint64_t offset) override {
    change([&] { disk[names[file]].since.push_back({offset, std::string(bytes)}); });
    return Storage::write(file, bytes, offset);
  }
  int truncate(int file, std::uint64_t size) override {
    change([&] { disk[names[file]].since.push_back({size, {}, true}); });
    return Storage::truncate(file, size);
  }
  int sync(int file) override {
    change([&] {
      Content& content = disk[names[file]];
      for (const Content::Step& step : content.since) apply(content.safe, step, ~std::size_t{});
      content.since.clear();
      content.synced = true;
    });
    return 0;
  }
};

// What is there after the cut: of each step all, a part or nothing, in any choice.
void restore(const Disk& disk, const std::string& directory, std::mt19937_64* chance) {
  std::filesystem::create_directory(directory);
  for (const auto& [name, content] : disk) {
    const auto draw = [&](std::uint64_t n) { return chance == nullptr ? 0 : (*chance)() % n; };
    if (!content.synced && draw(4) == 0) continue;
    std::string bytes = content.safe;
    for (const Content::Step& step : content.since) {
      const std::uint64_t luck = draw(3);
      if (luck > 0) apply(bytes, step, luck == 1 ? draw(step.bytes.size() + 1) : ~std::size_t{});
    }
    testing::spit(directory + "/" + name, bytes);
  }
}

std::vector<std::int64_t> countsOf(const std::string& directory) {
  std::vector<std::int64_t> counts;
  Strings strings;
  const auto read = readRecording(directory, strings, [&](const Event& event) {
    if (const auto* call = std::get_if<SyscallCount>(&event.payload)) counts.push_back(call->count);
  });
  REQUIRE(read.ok());
  return counts;
}

// A run of some minutes in a few small segments, synced now and then.
void recordOn(const std::string& directory, ForgettingStorage& storage) {
  Writer::Options options;
  options.segmentBytes = 8 << 10;
  auto writer =
      std::move(createWriter(directory, testing::sampleManifest(), options, storage)).value();
  std::int64_t count = 0;
  for (int at = 1; at < 240; ++at) {
    for (int i = 0; i < 15; ++i)
      writer->emit(secs(at) + Nanos(i), SyscallCount{writer->intern("read"), ++count});
    writer->tick(secs(at));
  }
  writer->close();
}

TEST_CASE("row 49: after a power cut everything up to the last sync can be read") {
  const TemporaryDirectory directory;
  ForgettingStorage storage;
  recordOn(directory / "run", storage);
  REQUIRE(storage.before.size() > 200);
  std::mt19937_64 chance(49);
  std::size_t kept = 0;
  for (int cut = 0; cut < 1000; ++cut) {
    const Disk& disk = storage.before[chance() % storage.before.size()];
    const std::string safe = directory / "safe", after = directory / "after";
    std::vector<std::int64_t> sure;
    if (disk.contains("events-000001.seg") && disk.at("events-000001.seg").synced) {
      restore(disk, safe, nullptr);
      sure = countsOf(safe);
      REQUIRE((sure.empty() || sure.back() == static_cast<std::int64_t>(sure.size())));  // no hole
      restore(disk, after, &chance);
      const std::vector<std::int64_t> read = countsOf(after);
      REQUIRE(std::includes(read.begin(), read.end(), sure.begin(), sure.end()));
      REQUIRE(std::is_sorted(read.begin(), read.end()));
    }
    kept += sure.size();
    std::filesystem::remove_all(safe);
    std::filesystem::remove_all(after);
  }
  CHECK(kept > 1000);
}

}  // namespace
}  // namespace stallprof
