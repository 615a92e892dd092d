// SPDX-License-Identifier: MIT
// load.*: each finding fires on a training made for it and stays silent on its neighbour.
#include <cmath>
#include <utility>

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

Training starting(double startup) {
  return {.persistent = false, .stepsPerEpoch = 20, .startup = startup};
}

// 800 samples of the trainer, which stand for two seconds.
StackFacts& sampled(Facts& f) {
  StackFacts& s = f.trainer.stacks;
  for (int i = 0; i < 800; ++i) s.trainer.add(&s + i);
  s.trainerTime = 2;
  return s;
}

}  // namespace

TEST_CASE("unmapping used batches is a part of load.ipc, and shrinks with their bytes") {
  Facts f = factsOf(Training{.workers = 8, .cores = 16, .compute = 10});
  CHECK_FALSE(find(f.judge(), "load.ipc"));
  StackFacts& s = sampled(f);
  s.releasing = 0.2 * s.trainerTime;
  const Judgement j = f.judge();
  const Finding* found = find(j, "load.ipc");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.2) < 0.02);
  const Advice* fewer = adviceIn(*found, "uint8_batches");
  REQUIRE(fewer);
  CHECK(std::abs(*fewer->predicted.speedup - 1 / (1 - 0.75 * 0.2)) < 0.03);
  CHECK(*fewer->predicted.high < 1.4);
  s.releasing = 0.01 * s.trainerTime;
  CHECK_FALSE(find(f.judge(), "load.ipc"));
}

TEST_CASE("load.ipc adds the trainer's own receiving and the blamed waiting") {
  Training t{.load = 0.3, .waitLoad = 0.3};
  CHECK(fires(t, "load.ipc"));  // 0.6 of 10.6
  t.waitLoad = 0.2;
  CHECK_FALSE(fires(t, "load.ipc"));  // 0.5 of 10.5
}

TEST_CASE(
    "what the sampler takes inside next() is no transport, and no number of workers cures it") {
  Facts f = factsOf(Training{.compute = 5, .load = 4.4, .waitLoad = 0.6});
  StackFacts& s = sampled(f);
  s.drawing = 0.4 * s.trainerTime;
  const Judgement j = f.judge();
  const Finding* found = find(j, "load.ipc");
  REQUIRE(found);
  REQUIRE(found->advice.size() == 1);
  CHECK(found->advice[0].id == "cheaper_sampler");
  CHECK(std::abs(*found->advice[0].predicted.speedup - 1.25) < 0.01);
}

TEST_CASE("what the sampler takes before an epoch's first batch is computed once, workers or not") {
  Facts f = factsOf(starting(40));
  REQUIRE(find(f.judge(), "load.worker_startup"));
  StackFacts& s = sampled(f);
  s.drawingAhead = 0.3 * s.trainerTime;
  const Judgement j = f.judge();
  const Finding* found = find(j, "load.ipc");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.3) < 0.01);
  REQUIRE(found->advice.size() == 1);
  CHECK(found->advice[0].id == "sampler_once");
  CHECK(std::abs(*found->advice[0].predicted.speedup - 1 / (1 - 0.27)) < 0.01);
  CHECK_FALSE(find(j, "load.worker_startup"));
}

TEST_CASE("fewer bytes gain no more than all of the hand-over, however short it is") {
  const Judgement j = factsOf(Training{.compute = 1, .load = 0.1, .batchCpu = 1}).judge();
  const Advice* smaller = adviceIn(j, "load.ipc", "uint8_batches");
  REQUIRE(smaller);
  CHECK(*smaller->predicted.high < 1.11);
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

namespace {

// A bigram model's batches: 0.5 ms to make in a worker, 0.4 to receive; the step 0.3 ms.
Training bigram(double cores, double waitLoad) {
  Training t{.workers = 4, .cores = cores, .compute = 0.3, .load = 0.4, .waitLoad = waitLoad};
  t.batchCpu = 0.5;
  t.batchBytes = 8192;
  return t;
}

const Advice* fewerIn(const Judgement& j, std::string_view id) {
  return adviceIn(j, id, "fewer_workers");
}

}  // namespace

TEST_CASE("batches that take longer to send than to make are made without workers") {
  // Few cores, all in use; and many, where what holds up the batches is not the model's.
  for (const auto& [cores, wait] : {std::pair{1.3, 0.22}, std::pair{64.0, 0.4}}) {
    INFO(cores);
    const Judgement j = factsOf(bigram(cores, wait)).judge();
    const Advice* advice = fewerIn(j, "load.ipc");
    REQUIRE(advice);
    CHECK(find(j, "load.ipc")->advice[0].id == "fewer_workers");
    CHECK(advice->change.to == "0");
    CHECK(advice->predicted.basis == Basis::kAssumed);  // what a worker costs is of another program
    // 0.7 ms and the wait, over 0.5 / 1.15 + 0.3 - 0.15.
    CHECK(std::abs(*advice->predicted.speedup - (0.7 + wait) / 0.585) < 0.12);
    CHECK(!advice->predicted.low);
    CHECK(*advice->predicted.high > *advice->predicted.speedup + 0.1);
    CHECK(*advice->predicted.high > 1.7);
  }
}

TEST_CASE("a stateful loader may send its state less often, or nothing without workers") {
  Facts f = factsOf(bigram(64.0, 0.4));
  REQUIRE(f.trace.loaders.size() == 1);
  f.trace.loaders[0].data.kind = f.trace.strings.intern("torch.StatefulDataLoader");
  const Judgement j = f.judge();
  CHECK(fewerIn(j, "load.ipc"));
  CHECK(adviceIn(j, "load.ipc", "rarer_snapshots"));
  CHECK_FALSE(adviceIn(factsOf(bigram(64.0, 0.4)).judge(), "load.ipc", "rarer_snapshots"));
}

TEST_CASE(
    "no workers gain no more than data that is always ready, whatever others made of the model") {
  Training t{.workers = 1, .cores = 2, .compute = 18, .load = 0.4, .waitLoad = 5};
  t.batchCpu = 0.5;
  Facts f = factsOf(t);
  f.run.externalCpuRatio = 0.5;
  f.run.queuedRatio = 0.5;
  const Judgement j = f.judge();
  const Advice* advice = fewerIn(j, "load.ipc");
  REQUIRE(advice);
  REQUIRE(advice->predicted.high);
  CHECK(*advice->predicted.high <= 23.4 / 18 * 1.15 / (1 - 0.24 / 18) + 0.01);
}

TEST_CASE("batches that take longer to make than to receive are no reason to do without workers") {
  Training t{.workers = 1, .cores = 2, .compute = 18, .load = 0.4, .waitLoad = 5};
  t.batchCpu = 12;
  CHECK_FALSE(fewerIn(factsOf(t).judge(), "load.ipc"));
}

TEST_CASE("workers that pay are not taken away") {
  Training t{.load = 0.4, .waitLoad = 0.3};  // 10 ms to make, beside a step of 10 ms
  const Judgement j = factsOf(t).judge();
  REQUIRE(find(j, "load.ipc"));
  CHECK_FALSE(fewerIn(j, "load.ipc"));
  Training healthy = bigram(64, 0);  // little to receive: 5 % is not gained
  healthy.compute = 10;
  CHECK_FALSE(fires(healthy, "load.ipc"));
  healthy.load = 0.6;
  healthy.batchCpu = 2;
  CHECK_FALSE(fewerIn(factsOf(healthy).judge(), "load.ipc"));
  // On a core of their own little is gained, but for what making it elsewhere is said to save.
  t = {.workers = 2, .cores = 1, .compute = 10, .load = 0.5, .waitTransform = 30, .batchCpu = 30};
  CHECK_FALSE(fewerIn(factsOf(t).judge(), "transform.cpu_saturated"));
  t = {.workers = 2, .cores = 2, .compute = 10, .waitTransform = 8, .batchCpu = 26};
  CHECK_FALSE(fewerIn(factsOf(t).judge(), "transform.cpu_saturated"));
}

TEST_CASE("pinning is the trainer's own work where there are no workers") {
  int advised = 0, pinned = 0;
  for (double load = 0.05; load < 1; load += 0.05) {
    Facts f = factsOf(bigram(64, load));
    const bool fewer = fewerIn(f.judge(), "load.ipc") != nullptr;
    f.trace.loaders[0].data.pinMemory = true;
    const bool fewerPinned = fewerIn(f.judge(), "load.ipc") != nullptr;
    CHECK((fewer || !fewerPinned));
    advised += fewer;
    pinned += fewerPinned;
  }
  INFO(advised << " and " << pinned);
  CHECK(pinned < advised);
}

TEST_CASE("short epochs of cheap batches are better off without workers") {
  Training t{.workers = 4,
             .persistent = false,
             .compute = 2,
             .batchCpu = 0.5,
             .stepsPerEpoch = 20,
             .startup = 60};
  const Judgement j = factsOf(t).judge();
  const Advice* advice = fewerIn(j, "load.worker_startup");
  REQUIRE(advice);
  CHECK(advice->change.to == "0");
  CHECK(*advice->predicted.speedup > 1.9);  // 5 ms a step, over 2.4
  CHECK(*advice->predicted.speedup < 2.4);
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

TEST_CASE("a loader that is made for each epoch starts its workers whatever its settings") {
  const auto advised = [](bool persistent, bool again, const std::string& method = "fork") {
    Training t = starting(60);
    t.persistent = persistent;
    Facts f = factsOf(t);
    f.trace.loaders[0].data.startMethod = f.trace.strings.intern(method);
    REQUIRE(f.trainer.epochs.size() > 5);
    std::uint32_t loader = 1;
    for (Epoch& epoch : f.trainer.epochs) epoch.loader = again ? loader++ : 1;
    const Judgement j = f.judge();
    const Finding* found = find(j, "load.worker_startup");
    std::vector<std::string> ids;
    if (found)
      for (const Advice& advice : found->advice) ids.push_back(advice.id);
    return ids;
  };
  using Ids = std::vector<std::string>;
  const auto has = [](const Ids& ids, const char* id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  CHECK(has(advised(false, false), "persistent_workers"));
  CHECK(has(advised(false, true), "one_loader"));
  CHECK_FALSE(has(advised(false, true), "persistent_workers"));
  CHECK(has(advised(true, true), "one_loader"));
  CHECK(advised(true, false).empty());
  CHECK(has(advised(false, false, "spawn"), "fork_workers"));
  CHECK_FALSE(has(advised(false, false), "fork_workers"));
}

TEST_CASE("what workers do in the first batch of each epoch is done again with them") {
  // 200 ms in which the first batch of each epoch reads: they are no start of the workers.
  const auto judged = [](double slow, bool persistent) {
    Training t = starting(slow);
    t.persistent = persistent;
    Facts f = factsOf(t);
    for (std::size_t i = 0; i < f.trainer.steps.size(); i += 20) {
      Step& step = f.trainer.steps[i];
      BatchWork& work = f.trainer.works[i];
      work.batch = work.worker;
      work.extract += ms(slow);
      work.end += ms(slow);
      if (i >= f.trainer.warmup) f.trainer.blame.startup -= step.blame.startup;
      if (i >= f.trainer.warmup) f.trainer.blame.extract += step.blame.startup;
      step.blame.extract += std::exchange(step.blame.startup, Nanos{});
    }
    return f.judge();
  };
  CHECK_FALSE(find(judged(0, false), "load.worker_startup"));
  CHECK_FALSE(find(judged(200, true), "load.worker_startup"));
  const Judgement j = judged(200, false);
  const Finding* found = find(j, "load.worker_startup");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.49) < 0.03);  // 10 of 20.5 ms
  CHECK(says(*found, "with their slower first batches"));
  CHECK(std::abs(*adviceIn(*found, "persistent_workers")->predicted.speedup - 1.95) < 0.1);
}

TEST_CASE("load.worker_startup predicts the epoch without its start") {
  const Judgement j = factsOf(starting(200)).judge();
  const Finding* f = find(j, "load.worker_startup");
  REQUIRE(f);
  const Maybe<double> speedup = f->advice.at(0).predicted.speedup;
  REQUIRE(speedup);
  CHECK(std::abs(*speedup - 20.5 / 10.5) < 0.06);  // 10 ms of start and a first batch an epoch
}

TEST_CASE("an iterator that is made for each batch is to be kept") {
  Training t = starting(20);
  t.stepsPerEpoch = 1;
  t.waitTransform = 10;  // for its first batch
  const Judgement j = factsOf(t).judge();
  const Advice* kept = adviceIn(j, "load.worker_startup", "keep_iterator");
  REQUIRE(kept);
  REQUIRE(kept->predicted.speedup);
  // A step of 10 ms, and 30 of start and a first batch; with persistent workers still the latter.
  CHECK(*kept->predicted.speedup > 3.5);
  const Advice* persistent = adviceIn(j, "load.worker_startup", "persistent_workers");
  REQUIRE(persistent);
  CHECK(*persistent->predicted.speedup < 0.6 * *kept->predicted.speedup);
  t.stepsPerEpoch = 20;
  CHECK_FALSE(adviceIn(factsOf(t).judge(), "load.worker_startup", "keep_iterator"));
  t.stepsPerEpoch = 1;  // a data set of one batch: each epoch is over
  Facts over = factsOf(t);
  for (Epoch& epoch : over.trainer.epochs) epoch.whole = true;
  CHECK_FALSE(adviceIn(over.judge(), "load.worker_startup", "keep_iterator"));
}

TEST_CASE("ending workers and making iterators between epochs is start-up, not transport") {
  Training t{.persistent = false, .stepsPerEpoch = 20};
  Facts f = factsOf(t);
  Nanos shift{};
  for (std::size_t i = 0; i < f.trainer.steps.size(); ++i) {
    Step& s = f.trainer.steps[i];
    s.begin += shift;
    s.end += shift;
    if (i % 20 != 19) continue;  // 200 ms at the end of each epoch
    s.boundary = true;
    s.split.load += ms(200);
    s.end += ms(200);
    shift += ms(200);
  }
  f.trainer.split.load += ms(200) * 10;
  f.trainer.windowBegin = f.trainer.steps[20].begin;
  f.trainer.windowEnd = f.trainer.steps.back().end;
  for (Epoch& p : f.trainer.epochs)
    p.begin = f.trainer.steps[static_cast<std::size_t>(p.epoch - 1) * 20].begin;
  for (std::size_t i = 0; i < f.trainer.works.size(); ++i) {
    f.trainer.works[i].begin = f.trainer.steps[i].begin;
    f.trainer.works[i].end = f.trainer.works[i].begin + ms(10);
  }
  const Judgement j = f.judge();
  CHECK_FALSE(find(j, "load.ipc"));
  const Finding* found = find(j, "load.worker_startup");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.5) < 0.01);
  CHECK(std::abs(*found->advice.at(0).predicted.speedup - 20.5 / 10.5) < 0.06);
}

TEST_CASE("load.no_prefetch fires on prefetch 1 with uneven batches that are waited for") {
  Training t{.workers = 4, .prefetch = 1, .compute = 10, .waitTransform = 1.5, .batchCpu = 30};
  t.batchScale = {0.5, 1.5, 0.7, 1.3, 1, 0.6, 1.4};
  CHECK(fires(t, "load.no_prefetch"));
  t.prefetch = 2;
  CHECK_FALSE(fires(t, "load.no_prefetch"));
  t.prefetch = 1;
  t.waitTransform = 0;
  CHECK_FALSE(fires(t, "load.no_prefetch"));
}

TEST_CASE("load.worker_memory fires on growth that ends the run, and on a full /dev/shm") {
  Facts f = factsOf(Training{});
  f.run.memoryAvailable = 10'000'000'000;
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
  WorkerFacts& worker = f.trainer.workers[0];
  worker.growthPerSecond = 100'000'000;
  CHECK(find(f.judge(), "load.worker_memory"));
  worker.growthPerSecond = 5'000'000;  // 10 MB in the window: noise
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
  worker.growthPerSecond = 100'000'000;
  ProcessLife life;  // of one epoch: the next worker begins with nothing
  life.seen = f.trainer.windowBegin;
  life.gone = f.trainer.windowBegin + f.trainer.window() / 2;
  f.trace.processes.resize(worker.process.value, life);
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
  f.trace.processes.clear();
  f.trainer.workers[0].growthPerSecond = 0;
  f.run.shmPeak = 60'000'000;
  f.run.shmFree = 4'000'000;
  CHECK(find(f.judge(), "load.worker_memory"));
  f.run.shmFree = 40'000'000;
  CHECK_FALSE(find(f.judge(), "load.worker_memory"));
}
