// SPDX-License-Identifier: MIT
// Each finding fires on a training made for it and stays silent on its neighbour.
#include <cmath>
#include <utility>

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

// A loader without workers: `fetch` ms of CPU a batch, all of it waited for.
Training serial(double fetch, double compute) {
  Training t;
  t.workers = 0;
  t.compute = compute;
  t.batchCpu = t.waitTransform = fetch;
  return t;
}

// Producer-bound with W workers: the step takes S / W.
Training starving(int workers, double cpu, double io, double compute) {
  Training t;
  t.workers = workers;
  t.compute = compute;
  t.batchCpu = cpu, t.batchIo = io;
  const double wait = (cpu + io) / workers - compute;
  t.waitTransform = wait * cpu / (cpu + io), t.waitExtract = wait * io / (cpu + io);
  return t;
}

Facts reading(double bytesPerCall) {
  Facts f = factsOf(starving(2, 4, 36, 5));
  f.run.bytesPerReadCall = bytesPerCall;
  f.run.readBytesPerSecond = 90e6;
  f.run.peakReadBytesPerSecond = 100e6;
  f.run.diskBusyRatio = 0.8;
  return f;
}

Training starting(double startup) {
  Training t;
  t.persistent = false;
  t.stepsPerPass = 20;
  t.startup = startup;
  return t;
}

Training saving(double everyTenth) {
  Training t;
  t.periodic = everyTenth / 10;
  t.saveEvery = 10, t.saveMs = everyTenth;
  return t;
}

}  // namespace

TEST_CASE("transform.in_process fires without workers above 5 % of fetching") {
  CHECK(fires(serial(0.7, 10), "transform.in_process"));
  CHECK_FALSE(fires(serial(0.4, 10), "transform.in_process"));
  Training one = starving(1, 40, 0, 10);
  CHECK_FALSE(fires(one, "transform.in_process"));
}

TEST_CASE("transform.in_process advises the workers the model finds, and says the gain") {
  const Judgement j = factsOf(serial(30, 10)).judge();
  const Finding* f = find(j, "transform.in_process");
  REQUIRE(f);
  CHECK(f->rank == 1);
  CHECK(std::abs(f->shareRatio - 0.75) < 0.001);
  CHECK(f->where.file == Untrusted("train.py"));
  CHECK(f->where.line == 88);
  const Advice* more = adviceIn(*f, "more_workers");
  REQUIRE(more);
  CHECK(more->change.from == "0");
  CHECK(more->change.to == "3");  // 30 / 10, and the handing over of 2.3 ms does not need a fourth
  // Three workers make a batch of 30 ms in 34.5 ms (kWorkerCpu): 40 / (10 + 2.3) is not reached.
  CHECK(*more->predicted.speedup > 2.7);
  CHECK(*more->predicted.speedup < 40 / 12.3);
  CHECK(*more->predicted.low < *more->predicted.speedup);
  CHECK(j.verdict.boundBy == "transform");
  CHECK(j.verdict.healthy == Maybe<bool>(false));
}

TEST_CASE("the first workers of an iterable data set come with a warning: it may not be divided") {
  const auto risk = [](bool iterable) {
    Facts f = factsOf(serial(30, 10));
    f.trace.loaders[0].data.iterable = iterable;
    return adviceIn(*find(f.judge(), "transform.in_process"), "more_workers")->risk;
  };
  CHECK(risk(true).find("get_worker_info") != std::string::npos);
  CHECK(risk(false).find("get_worker_info") == std::string::npos);
}

TEST_CASE("transform.too_few_workers needs busy workers and idle cores") {
  const Training t = starving(2, 40, 0, 10);
  const Judgement j = factsOf(t).judge();
  const Finding* f = find(j, "transform.too_few_workers");
  REQUIRE(f);
  CHECK(f->confidence == Confidence::kHigh);
  const Advice* more = adviceIn(*f, "more_workers");
  REQUIRE(more);
  CHECK(more->change.to == "4");
  CHECK(std::abs(*more->predicted.speedup - 2) < 0.05);
  // The neighbours: little wait; cores full; the waiting is for storage.
  CHECK_FALSE(fires(starving(2, 20.9, 0, 10), "transform.too_few_workers"));
  Training full = t;
  full.cores = 2;
  CHECK_FALSE(fires(full, "transform.too_few_workers"));
  CHECK_FALSE(fires(starving(2, 10, 30, 10), "transform.too_few_workers"));
}

TEST_CASE("workers are never advised beyond memory or shared memory") {
  Facts f = factsOf(starving(2, 40, 0, 5));
  f.run.memoryAvailable = 130'000'000;  // 0.8 of it holds one more of 100 MB
  auto j = f.judge();
  REQUIRE(find(j, "transform.too_few_workers"));
  CHECK(adviceIn(*find(j, "transform.too_few_workers"), "more_workers")->change.to == "3");
  f.run.memoryAvailable = 100'000'000;
  CHECK_FALSE(find(f.judge(), "transform.too_few_workers"));
  f.run.memoryAvailable = 100'000'000'000;
  f.run.shmFree = 21'000'000;  // two batches of 4 MB each for two more workers
  j = f.judge();
  REQUIRE(find(j, "transform.too_few_workers"));
  CHECK(adviceIn(*find(j, "transform.too_few_workers"), "more_workers")->change.to == "4");
}

TEST_CASE("transform.cpu_saturated fires when the cores are full, and never adds workers") {
  Training t = starving(2, 40, 0, 10);
  t.cores = 2, t.trainerCpu = 0;
  const Judgement j = factsOf(t).judge();
  const Finding* f = find(j, "transform.cpu_saturated");
  REQUIRE(f);
  CHECK_FALSE(adviceIn(*f, "more_workers"));
  CHECK(adviceIn(*f, "offline_preprocess"));
  CHECK(adviceIn(*f, "more_cores"));
  t.cores = 3;
  CHECK_FALSE(fires(t, "transform.cpu_saturated"));
}

TEST_CASE("one core and no workers is saturated, two cores are not") {
  Training t = serial(30, 10);
  t.cores = 1;
  CHECK(fires(t, "transform.cpu_saturated"));
  t.cores = 2;
  CHECK_FALSE(fires(t, "transform.cpu_saturated"));
}

TEST_CASE("transform.oversubscribed needs pools and more runnable threads than cores") {
  Training t;
  t.workers = 4, t.cores = 4, t.threads = 4, t.pool = 3;
  t.batchCpu = 40, t.compute = 5, t.waitTransform = 25;
  CHECK(fires(t, "transform.oversubscribed"));
  Training idle = t;
  idle.cores = 32;
  CHECK_FALSE(fires(idle, "transform.oversubscribed"));
  Training single = t;
  single.threads = 1, single.pool = 1;
  CHECK_FALSE(fires(single, "transform.oversubscribed"));
}

TEST_CASE("transform.stragglers needs uneven batches and later ones ready") {
  Training t;
  t.workers = 4, t.compute = 8, t.batchCpu = 20, t.ready = 2;
  t.batchScale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10};
  t.waitTransform = 4.5;
  const Judgement j = factsOf(t).judge();
  const Finding* f = find(j, "transform.stragglers");
  REQUIRE(f);
  REQUIRE(adviceIn(*f, "out_of_order"));
  CHECK(*adviceIn(*f, "out_of_order")->predicted.speedup > 1.2);
  Training even = t;
  even.batchScale = {1, 1.1};
  CHECK_FALSE(fires(even, "transform.stragglers"));
  Training empty = t;
  empty.ready = 0;
  CHECK_FALSE(fires(empty, "transform.stragglers"));
  Training free = t;
  free.inOrder = false;
  CHECK_FALSE(fires(free, "transform.stragglers"));
}

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

TEST_CASE("mapped files that fault from storage are random access") {
  Facts f = reading(1e6);
  f.run.majorFaultsPerSecond = 200;
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

TEST_CASE("a server on this host answers over the loopback: that is what is received") {
  Facts f = reading(16e3);
  ThreadLife thread;
  thread.id = ThreadId{1};
  ThreadSlice asleep;
  asleep.duration = f.trainer.window() / 100, asleep.wait = Wait::kSocket, asleep.looks = 10;
  for (int i = 0; i < 100; ++i)
    thread.slices.push_back({f.trainer.windowBegin + i * asleep.duration, asleep});
  f.trace.threads = {thread};
  f.trainer.workers.clear();  // the looks are at the trainer's own thread
  const auto received = [&](const char* name, Nanos at, std::int64_t bytes) {
    f.trace.networks.push_back({at, {f.trace.strings.intern(name), bytes, 0}});
  };
  received("eth0", f.trainer.windowBegin, 0), received("lo", f.trainer.windowBegin, 0);
  received("eth0", f.trainer.windowEnd, 0);
  received("lo", f.trainer.windowEnd, std::int64_t(9e6 * seconds(f.trainer.window())));
  const Judgement j = f.judge();
  const Finding* found = find(j, "extract.remote_latency");
  REQUIRE(found);
  CHECK(says(*found, "receives 9 MB/s from this host itself"));
}

TEST_CASE("extract.cold_cache fires when memory could hold what is read from storage") {
  Facts f = reading(1e6);
  f.run.cacheHitRatio = 0.3;
  f.run.datasetBytes = 8'000'000'000;
  f.run.memoryAvailable = 16'000'000'000;
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
  Facts f = reading(1e6);
  f.run.cacheHitRatio = 0;
  f.run.datasetBytes = 8'000'000'000;
  f.run.memoryAvailable = 16'000'000'000;
  const auto cached = [&] {
    const Judgement j = f.judge();
    const Finding* found = find(j, "extract.storage_bandwidth");
    REQUIRE(found);
    REQUIRE(adviceIn(*found, "cache_in_ram"));
    return std::pair(find(j, "extract.cold_cache") != nullptr,
                     adviceIn(*found, "cache_in_ram")->change.to);
  };
  CHECK(cached() == std::pair(true, std::string("memory")));
  f.run.pageCacheKeeps = true;
  CHECK(cached() == std::pair(true, std::string("memory")));
  f.run.pageCacheKeeps = false, f.run.laterMissRatio = 0.9;
  CHECK(cached() == std::pair(false, std::string("tmpfs")));
  CHECK(says(*find(f.judge(), "extract.storage_bandwidth"), "later passes"));
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
  for (BatchWork& w : f.trainer.works)
    w.cpu = w.threadCpu = (w.end - w.begin) * 52 / 100, w.extract = w.end - w.begin - w.cpu,
    w.blocked = Nanos{};
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

TEST_CASE("on full cores the step starves as well as waits, and the wait is the CPU's") {
  Training t;
  t.cores = 2, t.workers = 2;
  t.batchCpu = 17, t.compute = 14.7, t.starved = 2.4, t.trainerCpu = 12.3;
  t.waitTransform = 0.5, t.waitLoad = 1.1;  // behind a sender that has no core itself
  Facts f = factsOf(t);
  f.run.jobCpuRatio = 0.93;
  const Judgement j = f.judge();
  REQUIRE(find(j, "transform.cpu_saturated"));
  CHECK(j.findings[0].id == "transform.cpu_saturated");
  CHECK(says(j.findings[0], "runnable without a core 15 %"));
  f.run.jobCpuRatio = 0.5;  // the cores were not full, though the job asks for much
  f.run.cores = 8;
  CHECK_FALSE(find(f.judge(), "transform.cpu_saturated"));
}

TEST_CASE("cores that the job uses beside its pipeline are not the pipeline's") {
  Training t;
  t.cores = 2, t.workers = 2, t.batchCpu = 17, t.compute = 12, t.waitTransform = 4;
  Facts f = factsOf(t);
  const auto cpuCeiling = [&] {
    for (const Ceiling& c : f.judge().ceilings)
      if (c.stage == "cpu") return c.stepsPerSecond;
    return 0.0;
  };
  const double all = cpuCeiling();
  f.run.besideCpuRatio = 0.1;  // a storage server on this host
  CHECK(std::abs(cpuCeiling() / all - 0.9) < 1e-9);
}

TEST_CASE("load.ipc adds the trainer's own receiving and the blamed waiting") {
  Training t;
  t.load = 0.3, t.waitLoad = 0.3;
  CHECK(fires(t, "load.ipc"));  // 0.6 of 10.6
  t.waitLoad = 0.2;
  CHECK_FALSE(fires(t, "load.ipc"));  // 0.5 of 10.5
}

TEST_CASE("the fixed cost of a hand-over is nothing that fewer bytes or objects take away") {
  Training t;
  t.load = 0.45;  // a batch of one tensor, ms
  const auto speedup = [&] {
    t.waitLoad = 0.2;
    const Judgement j = factsOf(t).judge();
    const Finding* f = find(j, "load.ipc");
    REQUIRE(f);
    double best = 0;
    for (const Advice& a : f->advice) best = std::max(best, a.predicted.speedup.value_or(0));
    return best;
  };
  CHECK(speedup() < 1.03);
  t.load = 8;  // of 18.2 ms a step: thousands of objects
  CHECK(speedup() > 1.3);
}

TEST_CASE("a worker that had no index is not called slow transport") {
  Training t;
  t.waitLoad = 1;
  CHECK(fires(t, "load.ipc"));
  Facts f = factsOf(t);
  for (Step& s : f.trainer.steps) s.boundary = true;
  CHECK_FALSE(find(f.judge(), "load.ipc"));
  t.prefetch = 1;
  CHECK_FALSE(fires(t, "load.ipc"));
}

TEST_CASE("load.worker_startup fires above 2 % and not for persistent workers") {
  CHECK(fires(starting(6), "load.worker_startup"));  // 0.3 of 10.3
  CHECK_FALSE(fires(starting(3), "load.worker_startup"));
  Training kept = starting(6);
  kept.persistent = true;
  CHECK_FALSE(fires(kept, "load.worker_startup"));
}

TEST_CASE("load.worker_startup predicts the pass without its start") {
  const Judgement j = factsOf(starting(200)).judge();
  const Finding* f = find(j, "load.worker_startup");
  REQUIRE(f);
  const Maybe<double> speedup = f->advice.at(0).predicted.speedup;
  REQUIRE(speedup);
  CHECK(std::abs(*speedup - 20.5 / 10.5) < 0.06);  // 10 ms of start and a first batch a pass
}

TEST_CASE("ending workers and making iterators between passes is start-up, not transport") {
  Training t;
  t.persistent = false, t.stepsPerPass = 20;
  Facts f = factsOf(t);
  Nanos shift{};
  for (std::size_t i = 0; i < f.trainer.steps.size(); ++i) {
    Step& s = f.trainer.steps[i];
    s.begin += shift, s.end += shift;
    if (i % 20 != 19) continue;  // 200 ms at the end of each pass
    s.boundary = true;
    s.split.load += ms(200), s.end += ms(200), shift += ms(200);
  }
  f.trainer.split.load += ms(200) * 10;
  f.trainer.windowBegin = f.trainer.steps[20].begin;
  f.trainer.windowEnd = f.trainer.steps.back().end;
  for (Pass& p : f.trainer.passes)
    p.begin = f.trainer.steps[static_cast<std::size_t>(p.pass - 1) * 20].begin;
  for (std::size_t i = 0; i < f.trainer.works.size(); ++i)
    f.trainer.works[i].begin = f.trainer.steps[i].begin,
    f.trainer.works[i].end = f.trainer.works[i].begin + ms(10);
  const Judgement j = f.judge();
  CHECK_FALSE(find(j, "load.ipc"));
  const Finding* found = find(j, "load.worker_startup");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.5) < 0.01);
  CHECK(std::abs(*found->advice.at(0).predicted.speedup - 20.5 / 10.5) < 0.06);
}

TEST_CASE("load.no_prefetch fires on prefetch 1 with uneven batches that are waited for") {
  Training t;
  t.workers = 4, t.prefetch = 1, t.compute = 10, t.batchCpu = 30;
  t.batchScale = {0.5, 1.5, 0.7, 1.3, 1, 0.6, 1.4};
  t.waitTransform = 1.5;
  CHECK(fires(t, "load.no_prefetch"));
  t.prefetch = 2;
  CHECK_FALSE(fires(t, "load.no_prefetch"));
  t.prefetch = 1, t.waitTransform = 0;
  CHECK_FALSE(fires(t, "load.no_prefetch"));
}

TEST_CASE("load.worker_memory fires on growth that ends the run, and on a full /dev/shm") {
  Facts f = factsOf(Training{});
  f.run.memoryAvailable = 10'000'000'000;
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
  f.trainer.workers[0].lastResident += 200'000'000;  // 200 MB in 2 s
  CHECK(find(f.judge(), "load.worker_memory"));
  f.trainer.workers[0].lastResident -= 190'000'000;  // 10 MB: noise
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
  f.run.shmPeak = 60'000'000, f.run.shmFree = 4'000'000;
  CHECK(find(f.judge(), "load.worker_memory"));
  f.run.shmFree = 40'000'000;
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
}

TEST_CASE("compute.contention sees what waiting alone is blind to") {
  Training t;  // the measured row E2, four workers: 31 ms a step of which 11 are starvation
  t.workers = 4, t.cores = 2, t.compute = 31, t.starved = 11, t.batchCpu = 40;
  const Judgement j = factsOf(t).judge();
  const Finding* f = find(j, "compute.contention");
  REQUIRE(f);
  CHECK(bestSpeedup(*f) > 1.3);
  CHECK(j.verdict.healthy == Maybe<bool>(false));
  t.starved = 1.5;
  CHECK_FALSE(fires(t, "compute.contention"));
  t.starved = 11, t.workers = 0;
  CHECK_FALSE(fires(t, "compute.contention"));
}

TEST_CASE("periodic.checkpoint fires above 5 % of saving, at the user's line") {
  const Judgement j = factsOf(saving(20)).judge();
  const Finding* f = find(j, "periodic.checkpoint");
  REQUIRE(f);
  CHECK(f->where.line == 163);
  CHECK(std::abs(f->shareRatio - 2.0 / 12) < 0.001);
  CHECK(bestSpeedup(*f) > 1.1);
  CHECK(bestSpeedup(*f) < 1.2);
  CHECK(j.verdict.boundBy == "periodic");
  CHECK_FALSE(fires(saving(4), "periodic.checkpoint"));
}

TEST_CASE("periodic time without saves is not a checkpoint") {
  Training t;
  t.periodic = 3;
  CHECK_FALSE(fires(t, "periodic.checkpoint"));
}

TEST_CASE("host findings fire on their own numbers only") {
  Facts f = factsOf(Training{});
  f.run.memoryPressureRatio = 0.04, f.run.swapPagesPerSecond = 5.0;
  f.run.throttledRatio = 0.01, f.run.externalCpuRatio = 0.04;
  for (const Finding& each : f.judge().findings) CHECK(each.id.substr(0, 4) != "host");
  f.run.memoryPressureRatio = 0.08;
  CHECK(find(f.judge(), "host.memory_pressure"));
  f.run.memoryPressureRatio = 0.0, f.run.swapPagesPerSecond = 500.0;
  CHECK(find(f.judge(), "host.memory_pressure"));
  f.run.throttledRatio = 0.2;
  CHECK(find(f.judge(), "host.cpu_throttled"));
  f.run.externalCpuRatio = 0.08;
  CHECK(find(f.judge(), "host.noisy_neighbour"));
  f.run.externalCpuRatio = 0.03, f.run.stealRatio = 0.03;
  CHECK(find(f.judge(), "host.noisy_neighbour"));
}

TEST_CASE("every finding carries a title, a phase or a host's name, and numbers as evidence") {
  Facts f = reading(16e3);
  f.run.externalCpuRatio = 0.08, f.run.throttledRatio = 0.1, f.run.memoryPressureRatio = 0.1;
  for (const Finding& each : f.judge().findings) {
    CAPTURE(each.id);
    CHECK_FALSE(each.title.empty());
    CHECK_FALSE(each.advice.empty());
    bool number = false;
    for (const EvidenceItem& item : each.evidence) number = number || item.value.has_value();
    CHECK(number);
  }
}
