// SPDX-License-Identifier: MIT
// extract.*: each finding fires on a training made for it and stays silent on its neighbour.
#include <cmath>
#include <utility>

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

TEST_CASE("blocked reading is one of bandwidth, random access and small files") {
  CHECK(find(reading(1e6).judge(), "extract.storage_bandwidth"));
  CHECK_FALSE(find(reading(1e6).judge(), "extract.random_access"));
  CHECK(find(reading(16e3).judge(), "extract.random_access"));
  CHECK_FALSE(find(reading(16e3).judge(), "extract.storage_bandwidth"));
  Facts small = reading(16e3);
  small.run.opensPerSecond = 1600;  // 50 steps of 32 samples a second, 56 kB each
  CHECK(find(small.judge(), "extract.small_files"));
  CHECK_FALSE(find(small.judge(), "extract.random_access"));
  small.run.opensPerSecond = 200;  // one for eight samples: shards
  CHECK_FALSE(find(small.judge(), "extract.small_files"));
}

TEST_CASE("a file counts once, however often it was seen") {
  const auto seeing = [](int paths) {
    Facts f = reading(1e6);
    for (int i = 0; i < 40; ++i) {
      FileSeen seen;
      seen.process = ProcessId{2};
      seen.path = f.trace.strings.intern("/data/" + std::to_string(i % paths));
      seen.size = 50000;
      f.trace.files.push_back({Nanos{}, seen});
    }
    return f.judge();
  };
  CHECK(find(seeing(40), "extract.small_files"));
  CHECK_FALSE(find(seeing(1), "extract.small_files"));  // held open
  CHECK(find(seeing(1), "extract.storage_bandwidth"));
}

TEST_CASE("files are small where native samples open them for longer than they read them") {
  const auto sampled = [](double opening, double reading) {
    Facts f = test::reading(1e6);
    f.trainer.stacks.openingFiles = opening;
    f.trainer.stacks.readingFiles = reading;
    return f.judge();
  };
  const Judgement opened = sampled(15, 9);
  const Finding* f = find(opened, "extract.small_files");
  REQUIRE(f);
  CHECK(says(*f, "of 24 native samples in file calls, 63 %"));
  CHECK_FALSE(find(sampled(9, 15), "extract.small_files"));
  CHECK_FALSE(find(sampled(10, 5), "extract.small_files"));  // too few to know
}

namespace {

// No workers: `reading` of 10 ms of a batch's CPU opens files that are in memory, `files` of
// `bytes` a sample; the step takes 20 ms.
Facts cached(double reading, double files, double bytes) {
  Facts f = factsOf(Training{.workers = 0,
                             .compute = 20,
                             .waitExtract = reading,
                             .waitTransform = 10 - reading,
                             .batchCpu = 10,
                             .batchBytes = 16'000});
  f.trainer.blame.extractCpu = f.trainer.blame.extract;
  f.trainer.readCpuShare = reading / 10;
  f.run.opensPerSecond = files * 32 / 0.030;
  f.run.readBytesPerSecond = 0;
  f.run.readCallsPerSecond = 2 * *f.run.opensPerSecond;
  f.run.bytesPerReadCall = bytes / 2;
  return f;
}

}  // namespace

TEST_CASE("small files count where opening them keeps a CPU busy, as in the table of phases") {
  const Judgement j = cached(6, 4, 2e3).judge();
  const Finding* f = find(j, "extract.small_files");
  REQUIRE(f);
  CHECK(std::abs(f->shareRatio - 0.2) < 0.001);
  CHECK(f->rank == 1);  // the first worker is the fix of transform.in_process, too
  CHECK(j.verdict.boundBy == "extract");
  CHECK(j.verdict.tied.empty());
  const Advice* shards = adviceIn(*f, "sequential_shards");
  REQUIRE(shards);
  CHECK(*shards->predicted.speedup > 1.1);
  CHECK_FALSE(adviceIn(*f, "cache_in_ram"));
  CHECK(says(*f, "opens and reads files 20 % of the time on a CPU"));
  CHECK_FALSE(says(*f, "storage"));
  CHECK_FALSE(find(cached(6, 4, 1e6).judge(), "extract.small_files"));    // large ones
  CHECK_FALSE(find(cached(6, 0.1, 2e3).judge(), "extract.small_files"));  // shards
  CHECK_FALSE(find(cached(1, 4, 2e3).judge(), "extract.small_files"));    // 3 % of the time
}

TEST_CASE("where making a batch is mostly transform, batches in the training process go first") {
  const Judgement j = cached(4, 4, 2e3).judge();
  CHECK(j.findings[0].id == "transform.in_process");
  CHECK(find(j, "extract.small_files"));
  CHECK(j.verdict.boundBy == "transform");
}

TEST_CASE("small reads are random access only where the recorded offsets go back") {
  CHECK(find(reading(16e3, 0.21).judge(), "extract.random_access"));
  for (const Maybe<double> scattered : {Maybe<double>{}, Maybe<double>{0.0}, Maybe<double>{0.19}}) {
    const Judgement j = reading(4e3, scattered).judge();
    CHECK_FALSE(find(j, "extract.random_access"));
    CHECK(find(j, "extract.storage_bandwidth"));
  }
}

TEST_CASE("mapped files are random access where a fault brings less than its neighbours") {
  Facts f = reading(1e6, 0.0);
  f.run.majorFaultsPerSecond = 200;
  CHECK_FALSE(find(f.judge(), "extract.random_access"));  // bytes not counted
  f.run.bytesPerMajorFault = 131e3;
  CHECK_FALSE(find(f.judge(), "extract.random_access"));
  f.run.bytesPerMajorFault = 5e3;
  CHECK(find(f.judge(), "extract.random_access"));
}

TEST_CASE("extract findings are silent at 5 % of blocked reading") {
  Facts f = reading(16e3);
  f.trainer.blame.extract = f.trainer.window() / 25;
  for (const Finding& found : f.judge().findings) CHECK(found.phase != Phase::kExtract);
}

TEST_CASE("waiting for storage with idle cores is answered by more requests at once") {
  const Judgement j = reading(16e3).judge();
  const Finding* f = find(j, "extract.random_access");
  REQUIRE(f);
  CHECK(f->rank == 1);
  CHECK(j.verdict.boundBy == "extract");
  REQUIRE(adviceIn(*f, "more_workers"));
  CHECK(adviceIn(*f, "more_workers")->change.to == "8");  // 40 ms of which 36 blocked, 5 ms steps
}

TEST_CASE(
    "more requests at once may gain nothing of a disk that is busy all the time at its best") {
  Facts f = reading(16e3);
  const auto low = [&] {
    const Judgement j = f.judge();
    const Advice* more = adviceIn(j, "extract.random_access", "more_workers");
    REQUIRE(more);
    return *more->predicted.low;
  };
  f.run.diskBusyRatio = 0.5;
  CHECK(low() > 1.5);
  f.run.diskBusyRatio = 0.99;
  CHECK(low() <= 1);
}

namespace {

// The trainer makes its batches itself, and is blocked in sockets: so many samples of it.
Facts inSockets(int slices, std::uint32_t samplesEach, Wait wait = Wait::kSocket,
                bool mainThread = true) {
  Facts f = reading(16e3);
  ThreadLife thread;
  thread.id = ThreadId{1};
  thread.process = ProcessId{1};
  thread.tid = 100;
  ProcessLife process;
  process.id = ProcessId{1};
  process.pid = mainThread ? 100 : 99;
  f.trace.processes = {process};
  ThreadSlice asleep;
  asleep.duration = f.trainer.window() / slices;
  asleep.wait = wait;
  asleep.samples = samplesEach;
  for (int i = 0; i < slices; ++i)
    thread.slices.push_back({f.trainer.windowBegin + i * asleep.duration, asleep});
  f.trace.threads = {thread};
  f.trainer.workers.clear();
  return f;
}

void received(Facts& f, const char* name, double bytesPerSecond) {
  const StringId interface = f.trace.strings.intern(name);
  const auto bytes = std::int64_t(bytesPerSecond * seconds(f.trainer.window()));
  f.trace.networks.push_back({f.trainer.windowBegin, {interface, 0, 0}});
  f.trace.networks.push_back({f.trainer.windowEnd, {interface, bytes, 0}});
}

}  // namespace

TEST_CASE("an event loop of who fetches waits for the network, one of another thread may be idle") {
  const auto found = [](bool mainThread) {
    Facts f = inSockets(100, 10, Wait::kEventLoop, mainThread);
    received(f, "eth0", 1e6);
    const Judgement j = f.judge();
    return find(j, "extract.remote_latency") != nullptr;
  };
  CHECK(found(true));
  CHECK_FALSE(found(false));
}

TEST_CASE("extract.remote_latency needs a slow network, and adds what all interfaces receive") {
  Facts f = inSockets(100, 10);
  CHECK_FALSE(find(f.judge(), "extract.remote_latency"));  // no network counters
  received(f, "eth0", 4e6);
  received(f, "eth1", 5e6);
  const Judgement j = f.judge();
  const Finding* found = find(j, "extract.remote_latency");
  REQUIRE(found);
  CHECK(says(*found, "receives 9 MB/s"));
  // As fast as ever: it may be all that the network has.
  REQUIRE(adviceIn(*found, "more_workers"));
  CHECK(*adviceIn(*found, "more_workers")->predicted.low <= 1);
  received(f, "eth2", 90e6);
  CHECK_FALSE(find(f.judge(), "extract.remote_latency"));  // near its best: bandwidth is short
}

TEST_CASE("interfaces that bring little of what is read say nothing of a network file system") {
  for (const char* type : {"lustre", "nfs4", "fuse.mount"}) {
    Facts f = inSockets(100, 10);
    for (auto& slice : f.trace.threads[0].slices) slice.data.wait = Wait::kFileRead;
    f.run.storageType = type;
    f.run.bytesPerReadCall = 1e6;
    f.run.readCallsPerSecond = 10;
    f.run.readBytesPerSecond = 0;  // the kernel counts none of it
    f.run.peakReadBytesPerSecond.reset();
    received(f, "eth0", 4e3);
    const Judgement j = f.judge();
    CHECK_FALSE(find(j, "extract.remote_latency"));
    REQUIRE(find(j, "extract.storage_bandwidth"));
    CHECK_FALSE(says(*find(j, "extract.storage_bandwidth"), "from storage"));
    received(f, "eth1", 9e6);
    CHECK(find(f.judge(), "extract.remote_latency"));
  }
}

TEST_CASE("a dozen samples in sockets are no reads from storage") {
  Facts f = inSockets(12, 1);
  received(f, "eth0", 4e6);
  CHECK(find(f.judge(), "extract.remote_latency"));
  CHECK_FALSE(find(f.judge(), "extract.random_access"));
  Facts few = inSockets(5, 1);
  received(few, "eth0", 4e6);
  CHECK_FALSE(find(few.judge(), "extract.remote_latency"));
}

namespace {

// From storage, beside memory for all of it.
Facts readingWhatFits(double cacheHitRatio) {
  Facts f = reading(1e6);
  f.run.cacheHitRatio = cacheHitRatio;
  f.run.datasetBytes = 8'000'000'000;
  f.run.memoryAvailable = 16'000'000'000;
  return f;
}

}  // namespace

TEST_CASE("each of a host's ranks reads its part of the data: memory has to hold all of them") {
  Facts f = readingWhatFits(0.3);
  f.run.memoryAvailable = 20'000'000'000;
  f.run.balance.together = 2;
  const Judgement j = f.judge();
  const Finding* found = find(j, "extract.cold_cache");
  REQUIRE(found);
  CHECK(says(*found, "the data set is about 16 GB"));
  f.run.balance.together = 8;
  const Judgement many = f.judge();
  CHECK_FALSE(find(many, "extract.cold_cache"));
  REQUIRE(find(many, "extract.storage_bandwidth"));
  CHECK_FALSE(adviceIn(*find(many, "extract.storage_bandwidth"), "cache_in_ram"));
  f.run.filesSized = true;  // mapped files: what was seen is all of them
  CHECK(find(f.judge(), "extract.cold_cache"));
  f.run.filesSized = false;
  f.run.balance.together = 1;
  f.trace.manifest.environment.emplace_back("WORLD_SIZE", Untrusted("8"));  // on other hosts
  CHECK_FALSE(find(f.judge(), "extract.cold_cache"));
}

TEST_CASE("extract.cold_cache fires when memory could hold what is read from storage") {
  Facts f = readingWhatFits(0.3);
  const Judgement j = f.judge();
  const Finding* found = find(j, "extract.cold_cache");
  REQUIRE(found);
  REQUIRE(adviceIn(*found, "cache_in_ram"));
  CHECK(*adviceIn(*found, "cache_in_ram")->predicted.speedup > 2);  // blocked time gone
  CHECK(found->within == Maybe<std::string>("extract.storage_bandwidth"));
  f.run.memoryAvailable = 9'000'000'000;
  CHECK_FALSE(find(f.judge(), "extract.cold_cache"));
  f.run.memoryAvailable = 16'000'000'000;
  f.run.cacheHitRatio = 0.6;
  CHECK_FALSE(find(f.judge(), "extract.cold_cache"));
}

TEST_CASE("where the page cache keeps nothing, it is no cure and a cold cache no cause") {
  Facts f = readingWhatFits(0);
  const auto cached = [&] {
    const Judgement j = f.judge();
    const Advice* cache = adviceIn(j, "extract.storage_bandwidth", "cache_in_ram");
    REQUIRE(cache);
    return std::pair(find(j, "extract.cold_cache") != nullptr, cache->change.to);
  };
  CHECK(cached() == std::pair(true, std::string("memory")));
  f.run.pageCacheKeeps = true;
  CHECK(cached() == std::pair(true, std::string("memory")));
  f.run.pageCacheKeeps = false;
  f.run.laterMissRatio = 0.9;
  CHECK(cached() == std::pair(false, std::string("tmpfs")));
  CHECK(says(*find(f.judge(), "extract.storage_bandwidth"), "later epochs"));
}

TEST_CASE("reading and making that weigh the same are a tie, and more workers cure both") {
  Facts f = reading(16e3);
  for (Step& s : f.trainer.steps) {
    s.blame.extract = s.split.wait * 48 / 100;
    s.blame.transform = s.split.wait - s.blame.extract;
  }
  f.trainer.blame = {};
  for (std::size_t i = f.trainer.warmup; i < f.trainer.steps.size(); ++i)
    f.trainer.blame += f.trainer.steps[i].blame;
  for (BatchWork& w : f.trainer.works) {
    w.cpu = w.threadCpu = (w.end - w.begin) * 52 / 100;
    w.extract = w.end - w.begin - w.cpu;
    w.blocked = Nanos{};
  }
  const Judgement j = f.judge();
  REQUIRE(j.findings.size() >= 2);
  REQUIRE(find(j, "transform.too_few_workers"));
  REQUIRE(find(j, "extract.random_access"));
  CHECK(find(j, "transform.too_few_workers")->rank + find(j, "extract.random_access")->rank == 3);
  REQUIRE(adviceIn(j.findings[0], "more_workers"));
  REQUIRE(adviceIn(j.findings[1], "more_workers"));
  CHECK(says(j.findings[1], "a tie"));
  CHECK(j.verdict.boundBy == "mixed");
}
