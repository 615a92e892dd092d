// SPDX-License-Identifier: MIT
// transform.*: each finding fires on a training made for it and stays silent on its neighbour.
#include <cmath>

#include "analysis/findings/build.h"
#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

// A loader without workers: `fetch` ms of CPU a batch, all of it waited for.
Training serial(double fetch, double compute) {
  return {.workers = 0, .compute = compute, .waitTransform = fetch, .batchCpu = fetch};
}

}  // namespace

TEST_CASE("transform.in_process fires without workers above 5 % of fetching") {
  CHECK(fires(serial(0.7, 10), "transform.in_process"));
  CHECK_FALSE(fires(serial(0.4, 10), "transform.in_process"));
  Training one = starving(1, 40, 0, 10);
  CHECK_FALSE(fires(one, "transform.in_process"));
}

TEST_CASE("workers that sleep for their batches are too few, as busy ones are") {
  Training t = starving(2, 0.4, 0, 2);
  t.batchBlocked = 80;
  t.waitTransform = 0;
  t.waitUnknown = 38;
  const Judgement j = factsOf(t).judge();
  REQUIRE_FALSE(j.findings.empty());
  CHECK(j.findings[0].id == "transform.too_few_workers");
  CHECK(adviceIn(j.findings[0], "more_workers"));
  CHECK_FALSE(j.verdict.withheld);
  CHECK(j.verdict.boundBy == "transform");
  CHECK(j.verdict.confidence == Confidence::kMedium);
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
  CHECK(more->change.to == "3");  // 30 / 10, and the handing over of 3 ms does not need a fourth
  // Three workers make a batch of 30 ms in 34.5 ms (kWorkerCpu): 40 / (10 + 3) is not reached.
  CHECK(*more->predicted.speedup > 2.6);
  CHECK(*more->predicted.speedup < 40 / 13.0);
  CHECK(*more->predicted.low < *more->predicted.speedup);
  CHECK(j.verdict.boundBy == "transform");
  CHECK(j.verdict.healthy == Maybe<bool>(false));
}

namespace {

// 30 ms of fetching a step, of which the sampler takes `drawing` ms, as 800 samples saw it.
Judgement withSampler(double drawing) {
  Facts f = factsOf(serial(30, 10));
  StackFacts& s = f.trainer.stacks;
  for (int i = 0; i < 800; ++i) s.trainer.add(&s + i);
  s.trainerTime = 8;
  s.drawing = drawing / 40 * s.trainerTime;
  return f.judge();
}

}  // namespace

TEST_CASE("what the loader's sampler takes stays with the trainer when it gets workers") {
  const Judgement j = withSampler(12);
  const Advice* more = adviceIn(j, "transform.in_process", "more_workers");
  REQUIRE(more);
  CHECK(*more->predicted.speedup < 40.0 / (10 + 12));
  CHECK(*more->predicted.speedup > 40.0 / (10 + 12 + 5.5));  // 5.4 ms to hand 4 MB over
}

TEST_CASE(
    "where the sampler takes most of the fetching, no workers are advised, but a cheaper one") {
  const Judgement j = withSampler(20);
  const Finding* f = find(j, "transform.in_process");
  REQUIRE(f);
  CHECK(f->rank == 1);
  CHECK_FALSE(adviceIn(*f, "more_workers"));
  const Advice* cheaper = adviceIn(*f, "cheaper_sampler");
  REQUIRE(cheaper);
  CHECK(cheaper->predicted.basis == Basis::kAssumed);
  CHECK(std::abs(*cheaper->predicted.speedup - 40.0 / 30) < 0.01);
  CHECK(j.verdict.boundBy == "transform");
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

TEST_CASE("more workers of an iterable data set gain what its shards allow, which is not known") {
  Facts f = factsOf(starving(2, 40, 0, 10));
  f.trace.loaders[0].data.iterable = true;
  const Judgement j = f.judge();
  const Advice* more = adviceIn(j, "transform.too_few_workers", "more_workers");
  REQUIRE(more);
  CHECK(more->predicted.basis == Basis::kAssumed);
  CHECK(more->predicted.assumes == "the data set has a shard for each worker");
  CHECK(more->risk.find("without a shard") != std::string::npos);
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

TEST_CASE("hardware threads of one core are no cores of their own for more workers") {
  Facts f = factsOf(starving(2, 40, 0, 5));
  f.run.cores = 4;
  f.run.jobCpuRatio = 0.6;
  const auto gain = [&] {
    const Judgement j = f.judge();
    const Advice* more = adviceIn(j, "transform.too_few_workers", "more_workers");
    REQUIRE(more);
    return more->predicted;
  };
  const Prediction apart = gain();
  f.run.coresAsOne = 2.5;  // two
  const Prediction paired = gain();
  CHECK(*paired.low < *apart.low - 0.1);
  CHECK(*paired.high == Approx(*apart.high));
}

TEST_CASE("what every rank of a host is advised must fit all of them") {
  Facts f = factsOf(
      Training{.workers = 1, .cores = 16, .compute = 300, .waitTransform = 700, .batchCpu = 1000});
  f.run.jobCpuRatio = 1.3 / 16;
  const auto maxGain = [&] {
    const Judgement j = f.judge();
    const Advice* more = adviceIn(j, "transform.too_few_workers", "more_workers");
    REQUIRE(more);
    return *more->predicted.speedup;
  };
  CHECK(maxGain() > 3);
  f.run.siblings = 7;  // with the same script
  f.run.siblingCpuRatio = 7 * 1.3 / 16;
  CHECK(maxGain() < 1.05 * 16 / (8 * 1.3));  // all cores busy, each with its 1.3 s a step
  f.run.siblings = 0;
  f.run.balance.together = 8;  // ranks of one recording, never seen to wait for each other
  CHECK(maxGain() < 1.05 * 16 / (8 * 1.3));
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
  t.cores = 2;
  t.trainerCpu = 0;
  const Judgement j = factsOf(t).judge();
  const Finding* f = find(j, "transform.cpu_saturated");
  REQUIRE(f);
  CHECK_FALSE(adviceIn(*f, "more_workers"));
  CHECK(adviceIn(*f, "offline_preprocess"));
  CHECK(adviceIn(*f, "more_cores"));
  t.cores = 3;
  CHECK_FALSE(fires(t, "transform.cpu_saturated"));
}

TEST_CASE(
    "cores that others fill, beside batches that need next to none, are no lack of CPU for them") {
  Training t{.workers = 2, .cores = 2, .compute = 10, .waitTransform = 30, .batchCpu = 0.5};
  Facts f = factsOf(t);
  f.run.jobCpuRatio = 0.2;
  f.run.externalCpuRatio = 0.8;
  f.run.queuedRatio = 0.8;
  CHECK_FALSE(find(f.judge(), "transform.cpu_saturated"));
}

TEST_CASE("more cores come from where they were cut off: a quota, a cpuset, or another host") {
  Training t = starving(2, 40, 0, 10);
  t.cores = 2;
  t.trainerCpu = 0;
  Facts f = factsOf(t);
  const auto cure = [&](const char* finding, const char* id) {
    const Judgement j = f.judge();
    const Advice* advice = adviceIn(j, finding, id);
    return advice ? advice->change.name + " " + advice->change.from + " " + advice->change.to
                  : std::string("none");
  };
  CHECK(cure("transform.cpu_saturated", "more_cores") == "cores 2 4");
  f.trace.manifest.host.coresOnline = 3;
  f.run.coresAllowed = 2;  // a cpuset of two of three
  CHECK(cure("transform.cpu_saturated", "more_cores") == "cpuset 2 3");
  f.trace.manifest.host.coresOnline = 64;
  CHECK(cure("transform.cpu_saturated", "more_cores") == "cpuset 2 4");
  f.run.coresAllowed = 64;  // and a quota
  f.run.throttledRatio = 0.2;
  CHECK(cure("transform.cpu_saturated", "raise_cpu_limit") == "cpu limit 2 4");
  CHECK(cure("host.cpu_throttled", "raise_cpu_limit") == "cpu limit 2 4");
  CHECK(cure("transform.cpu_saturated", "more_cores") == "none");
  f.run.coresAllowed.reset();  // by an older recording
  CHECK(cure("host.cpu_throttled", "raise_cpu_limit") == "cpu limit 2 4");
}

TEST_CASE("cores that others use are idle for no more workers, though nobody waits for them yet") {
  Training t = starving(6, 600, 0, 30);
  t.cores = 16;
  Facts f = factsOf(t);
  f.run.jobCpuRatio = 0.39;
  const auto more = [&] {
    const Judgement j = f.judge();
    const Finding* found = find(j, "transform.too_few_workers");
    REQUIRE(found);
    REQUIRE(adviceIn(*found, "more_workers"));
    bool said = false;
    for (const EvidenceItem& item : found->evidence)
      said = said || (item.text.starts_with("CPU in use") && item.value &&
                      std::abs(*item.value - (f.run.jobCpuRatio.value_or(0) +
                                              f.run.externalCpuRatio.value_or(0))) < 1e-6);
    CHECK(said);
    return adviceIn(*found, "more_workers")->predicted;
  };
  CHECK(*more().low > 2);
  f.run.externalCpuRatio = 0.56;  // nine of the sixteen
  f.run.queuedRatio = 0.01;
  CHECK(*more().low < 1.3);
  const Judgement beside = f.judge();
  const Finding* found = find(beside, "transform.too_few_workers");
  REQUIRE(found);  // nine cores are not idle
  CHECK(found->title == "Too few workers: they are busy while the job can have more cores");
  CHECK(says(*found,
             "CPU in use: 39 % of 16 usable cores by the job, 56 % by others that it does "
             "not wait for"));
}

TEST_CASE("with more cores no more workers are asked for than the memory holds") {
  Training t = starving(2, 40, 0, 10);
  t.cores = 2;
  t.trainerCpu = 0.1;
  Facts f = factsOf(t);
  f.run.memoryTotal = 16'000'000'000;
  const auto risk = [&](std::int64_t available) {
    f.run.memoryAvailable = available;
    const Judgement j = f.judge();
    REQUIRE(find(j, "transform.cpu_saturated"));
    const Advice* more = adviceIn(j, "transform.cpu_saturated", "more_cores");
    return more ? more->risk : "no advice";
  };
  CHECK(risk(8'000'000'000).find("num_workers") != std::string::npos);
  CHECK(risk(100'000'000) == "no advice");  // 100 MB each; and for as many, cores gain nothing
}

TEST_CASE("at best cheaper batches leave their cores to the pool that spins for them") {
  const auto gain = [](double spins) {
    Facts f = factsOf(starving(2, 40, 0, 10));
    f.trainer.cpu = scaled(f.trainer.window(), 0.2);
    f.run.pool = PoolUse{.samples = 1000, .spins = 500, .threads = 2, .leaderSpins = spins};
    const Evidence e = gather(f.trace, f.trainer, f.run);
    return predictScaled(e, &PipelineSettings::cpuScale, 0.5, 0.9, 0.1, "");
  };
  REQUIRE(gain(0).speedup);
  CHECK(*gain(0.8).high > 1.3 * *gain(0).high);  // 2 of 10 ms of the step are its own work
  CHECK(*gain(0.8).speedup == *gain(0).speedup);
}

TEST_CASE("batches that a library's own threads make on all cores are given to no worker") {
  Training t = serial(68, 22);
  t.cores = 2;
  t.batchCpu = 129;
  Facts f = factsOf(t);
  f.run.jobCpuRatio = 0.95;
  const auto offered = [&](const char* id) {
    return adviceIn(f.judge(), "transform.in_process", id) != nullptr;
  };
  CHECK_FALSE(offered("more_workers"));
  CHECK(offered("offline_preprocess"));
  f.run.jobCpuRatio = 0.5;
  CHECK(offered("more_workers"));
  f.run.jobCpuRatio = 0.1;  // it sleeps, and others fill the cores
  f.run.externalCpuRatio = f.run.queuedRatio = 0.88;
  CHECK(offered("more_workers"));
}

TEST_CASE("memory that workers free and get again for each sample is to be kept") {
  Facts f = factsOf(starving(2, 30, 0, 5));
  f.run.faultSeconds = 1.3e-6;
  f.run.workerFaultsPerSecond = 280'000;  // 8,400 of a batch, 1,000 of them to send it
  const auto found = [&]() -> Maybe<Finding> {
    const Judgement j = f.judge();
    const Finding* finding = find(j, "transform.minor_faults");
    return finding ? Maybe<Finding>(*finding) : std::nullopt;
  };
  const Maybe<Finding> first = found();
  REQUIRE(first);
  CHECK(std::abs(first->shareRatio - 2.0 / 3 * 0.32) < 0.01);
  const Advice* keep = adviceIn(*first, "keep_memory");
  REQUIRE(keep);
  CHECK(keep->change.name == "GLIBC_TUNABLES");
  CHECK(*keep->predicted.speedup > 1.2);
  CHECK(*keep->predicted.high > *keep->predicted.speedup);
  f.trace.manifest.environment = {{"GLIBC_TUNABLES", Untrusted("glibc.pthread.rseq=0")}};
  CHECK(adviceIn(*found(), "keep_memory")
            ->change.to.starts_with("glibc.pthread.rseq=0:glibc.malloc"));
  f.trace.manifest.environment = {{"MALLOC_TRIM_THRESHOLD_", Untrusted("1000000000")}};
  CHECK_FALSE(adviceIn(*found(), "keep_memory"));
  f.trace.manifest.environment = {{"LD_PRELOAD", Untrusted("/usr/lib/libjemalloc.so.2")}};
  CHECK_FALSE(adviceIn(*found(), "keep_memory"));
  f.run.workerFaultsPerSecond = 80'000;  // two thirds are of what is left: under 10 %
  CHECK_FALSE(found());
  f.run.workerFaultsPerSecond = 280'000;
  f.run.faultSeconds.reset();
  CHECK_FALSE(found());
}

TEST_CASE("no workers are added where pages are swapped") {
  Facts f = factsOf(starving(1, 40, 0, 10));
  const auto risk = [&]() -> std::string {
    const Judgement j = f.judge();
    const Advice* advice = adviceIn(j, "transform.too_few_workers", "more_workers");
    return advice ? advice->risk : "not offered";
  };
  f.run.memoryAvailable = 8'000'000'000;
  CHECK(risk().ends_with("; 8 GB free"));
  f.run.cgroupHeadroom = 3'000'000'000;
  CHECK(risk().ends_with("; 3 GB free of the container's limit"));
  f.run.memoryPressureRatio = 0.2;  // perhaps another's
  CHECK(risk().ends_with("; the host is already short of memory"));
  f.run.majorFaultsPerSecond = 50;  // perhaps of its data
  CHECK(risk().ends_with("; the host is already short of memory"));
  f.run.swapPagesPerSecond = 50;
  CHECK(risk() == "not offered");
  f.run.majorFaultsPerSecond = 0;  // whoever it is whose pages are swapped, it is not this job
  CHECK(risk().ends_with("; the host is already short of memory"));
  f.run.memoryTotal = 100'000'000'000;  // 8 % of it is available
  CHECK(risk() == "not offered");
}

TEST_CASE("one core and no workers is saturated, two cores are not") {
  Training t = serial(30, 10);
  t.cores = 1;
  CHECK(fires(t, "transform.cpu_saturated"));
  t.cores = 2;
  CHECK_FALSE(fires(t, "transform.cpu_saturated"));
}

TEST_CASE("transform.oversubscribed needs pools and more runnable threads than cores") {
  Training t{.workers = 4, .cores = 4, .compute = 5, .waitTransform = 25, .batchCpu = 40};
  t.pool = 3;
  t.threads = 4;
  CHECK(fires(t, "transform.oversubscribed"));
  Facts sampled = factsOf(t);
  sampled.run.workerSpins = Share{0.4, 0.35, 0.45};
  const Judgement spinning = sampled.judge();
  const Finding* found = find(spinning, "transform.oversubscribed");
  REQUIRE(found);
  CHECK(says(*found, "40 %"));
  const Advice* one = adviceIn(*found, "single_thread_workers");
  REQUIRE(one);
  CHECK(one->change.name == "OMP_NUM_THREADS");
  sampled.trace.manifest.environment.emplace_back("OMP_NUM_THREADS", Untrusted("1"));
  const Judgement already = sampled.judge();
  one = adviceIn(*find(already, "transform.oversubscribed"), "single_thread_workers");
  REQUIRE(one);
  CHECK(one->change.name == "OPENCV_FOR_THREADS_NUM");
  sampled.run.workerSpins = Share{0.02, 0.01, 0.03};  // what they do is work
  CHECK_FALSE(find(sampled.judge(), "transform.oversubscribed"));
  Training idle = t;
  idle.cores = 32;
  CHECK_FALSE(fires(idle, "transform.oversubscribed"));
  Training single = t;
  single.threads = 1;
  single.pool = 1;
  CHECK_FALSE(fires(single, "transform.oversubscribed"));
}

TEST_CASE("transform.stragglers needs uneven batches and later ones ready") {
  Training t{.workers = 4, .compute = 8, .waitTransform = 4.5, .ready = 2, .batchCpu = 20};
  t.batchScale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10};
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

TEST_CASE("in_order is advised where the PyTorch that ran has it, from 2.6 on") {
  Training t{.workers = 4, .compute = 8, .waitTransform = 4.5, .ready = 2, .batchCpu = 20};
  t.batchScale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10};
  const auto stragglers = [&](const char* version) {
    return *find(factsOf(t).with("torch", version).judge(), "transform.stragglers");
  };
  for (const char* version : {"1.13.0a0+gitb1dde16", "2.1.0", "2.5.1+cu124"}) {
    const Finding f = stragglers(version);
    CHECK(adviceIn(f, "out_of_order") == nullptr);
    REQUIRE(adviceIn(f, "even_batches"));
    CHECK_FALSE(adviceIn(f, "even_batches")->predicted.low);  // how even is not known
  }
  for (const char* version : {"2.6.0", "2.6.0a0+git1", "2.11.0+cu130", "3.0"}) {
    const Finding f = stragglers(version);
    REQUIRE(adviceIn(f, "out_of_order"));
    CHECK(adviceIn(f, "out_of_order")->risk.find("PyTorch") == std::string::npos);
    CHECK(adviceIn(f, "even_batches") == nullptr);
  }
  for (const char* version : {"", "unknown", "2"}) {
    const Finding f = stragglers(version);
    REQUIRE(adviceIn(f, "out_of_order"));
    CHECK(adviceIn(f, "out_of_order")->risk.starts_with("needs PyTorch 2.6 or newer; "));
  }
}

TEST_CASE("the version of PyTorch is that of the trainer's process") {
  Training t{.workers = 4, .compute = 8, .waitTransform = 4.5, .ready = 2, .batchCpu = 20};
  t.batchScale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10};
  Facts f = factsOf(t).with("torch", "2.6.0", 9).with("tensorflow", "2.21").with("torch", "1.13");
  CHECK(adviceIn(*find(f.judge(), "transform.stragglers"), "out_of_order") == nullptr);
}

TEST_CASE("on full cores the step starves as well as waits, and the wait is the CPU's") {
  Training t{
      .workers = 2,
      .cores = 2,
      .compute = 14.7,
      .starved = 2.4,
      .trainerCpu = 12.3,
      .waitTransform = 0.5,
      .waitLoad = 1.1,  // behind a sender that has no core itself
      .batchCpu = 17,
  };
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
  Training t{.workers = 2, .cores = 2, .compute = 12, .waitTransform = 4, .batchCpu = 14};
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

namespace {

// Of 400 running samples of making batches so many are rows of a TensorDataset, 100 collate them
// and the rest is the program's own.
Judgement gathering(double rows) {
  Facts f = factsOf(serial(30, 70));
  StackFacts& s = f.trainer.stacks;
  const std::pair<const char*, double> seen[] = {
      {"TensorDataset.__getitem__", rows}, {"collate", 100}, {"decode", 300 - rows}};
  std::uint32_t id = 0;
  for (const auto& [function, samples] : seen) {
    StackSeen frame;
    frame.stack = StackId{++id};
    frame.function = f.trace.strings.intern(function);
    frame.file = f.trace.strings.intern(id == 3   ? "train.py"
                                        : id == 2 ? "/v/lib/python3.11/site-packages/torch/utils/"
                                                    "data/_utils/collate.py"
                                                  : "/v/lib/python3.11/site-packages/torch/utils/"
                                                    "data/dataset.py");
    f.trace.stacks.push_back({Nanos{}, frame});
    FunctionSamples of;
    of.side = Side::kProducer;
    of.phase = Phase::kTransform;
    of.hot = of.user = StackId{id};
    of.samples = of.running = samples;
    s.functions.push_back(of);
  }
  for (int i = 0; i < 400; ++i) s.makingRunning.add(Phase::kTransform, &s + i, 0.01);
  return f.judge();
}

}  // namespace

TEST_CASE("rows of tensors are to be taken as whole batches, what is made of each sample is not") {
  const Judgement j = gathering(300);
  const Finding* f = find(j, "transform.in_process");
  REQUIRE(f);
  CHECK_FALSE(adviceIn(*f, "offline_preprocess"));
  const Advice* whole = adviceIn(*f, "whole_batches");
  REQUIRE(whole);
  CHECK(std::abs(*whole->predicted.speedup - 1 / (1 - 0.3 * 0.5)) < 0.02);
  CHECK(*whole->predicted.high > *whole->predicted.speedup);
  CHECK(*whole->predicted.high < 1 / (1 - 0.3) + 0.1);
  const Judgement little = gathering(50);
  REQUIRE(find(little, "transform.in_process"));
  CHECK(adviceIn(*find(little, "transform.in_process"), "offline_preprocess"));
  CHECK_FALSE(adviceIn(*find(little, "transform.in_process"), "whole_batches"));
}
