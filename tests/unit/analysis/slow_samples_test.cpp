// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/slow_samples.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

// One thread's batches of 100 ms, one after the other.
std::vector<BatchWork> batches(int count) {
  std::vector<BatchWork> works;
  for (int i = 0; i < count; ++i) {
    BatchWork work;
    work.thread = ThreadId{7};
    work.begin = ms(100 * i);
    work.end = work.begin + ms(100);
    works.push_back(work);
  }
  return works;
}

struct Rows {
  Trace trace;
  void add(double at, double duration, std::int64_t index, double excess,
           ThreadId thread = ThreadId{7}) {
    SlowSamples row;
    row.thread = thread;
    row.duration = ms(duration);
    row.index = index;
    row.file = trace.strings.intern("/d/" + std::to_string(index) + ".jpg");
    row.samples = 32;
    row.slow = 1;
    row.median = ms(1);
    row.excess = ms(excess);
    trace.slowSamples.push_back({ms(at), row});
  }
};

}  // namespace

TEST_CASE("slow samples belong to the batch of their thread, and are named slowest first") {
  auto works = batches(3);
  Rows rows;
  rows.add(110, 60, 5, 70);
  rows.add(130, 61, 6, 70, ThreadId{8});  // another's
  rows.add(205, 80, 9, 79);
  rows.add(305, 90, 3, 89);  // of no batch
  const SlowSampleFacts facts = findSlowSamples(rows.trace, works);
  CHECK(works[0].excess == ms(0));
  CHECK(works[1].excess == ms(70));
  CHECK(works[2].excess == ms(79));
  CHECK(facts.excess == ms(149));
  CHECK(facts.batches == 2);
  CHECK(facts.median == ms(1));
  REQUIRE(facts.slowest.size() == 2);
  CHECK(facts.slowest[0].index == 9);
  CHECK(rows.trace.text(facts.slowest[1].file) == "/d/5.jpg");
}

TEST_CASE("time without a CPU or waiting for storage is not the sample's") {
  auto works = batches(2);
  works[0].queued = ms(20);
  works[0].extract = ms(30);
  works[1].queued = ms(96);
  Rows rows;
  rows.add(10, 80, 1, 79);
  rows.add(110, 90, 2, 89);  // all of it may be time without a CPU: not slow
  const SlowSampleFacts facts = findSlowSamples(rows.trace, works);
  CHECK(works[0].excess == ms(29));
  CHECK(works[1].excess == ms(0));
  CHECK(facts.slowest.size() == 1);
}

TEST_CASE("each sample is named once, with its slowest; parts of a run add up") {
  SlowSampleFacts all, part;
  for (std::int64_t i = 0; i < 30; ++i) all.add(SlowSample{i, {}, ms(static_cast<double>(10 + i))});
  CHECK(all.slowest.size() == SlowSampleFacts::kNamed);
  CHECK(all.slowest[0].index == 29);
  part.add(SlowSample{28, {}, ms(100)});
  part.add(SlowSample{28, {}, ms(90)});
  part.batches = 3;
  part.median = ms(4);
  part.excess = ms(10);
  all.batches = 1;
  all.median = ms(0);
  all.add(part);
  CHECK(all.slowest[0].index == 28);
  CHECK(all.slowest[0].duration == ms(100));
  CHECK(all.median == ms(3));
  CHECK(all.excess == ms(10));
  CHECK(all.batches == 4);
}

namespace {

// Every `every`th batch has a sample that takes all but 4 of its ms. `asleep`: it does nothing
// then.
Facts uneven(int every, bool asleep = false) {
  Training t = starving(2, asleep ? 0.5 : 8, 0, 4);
  t.batchScale.assign(static_cast<std::size_t>(every), 0.5);
  t.batchScale.back() = 40;
  // 320 ms for two steps of 4, by the worker that has them all
  (asleep ? t.waitUnknown : t.waitTransform) = 156;
  t.batchBlocked = asleep ? 7.5 : 0;
  if (asleep) t.waitTransform = 0;
  Facts f = factsOf(t);
  for (BatchWork& work : f.trainer.works)
    if (work.end - work.begin > ms(100)) {
      work.excess = work.end - work.begin - ms(4);
      f.trainer.slowSamples.excess += work.excess;
      f.trainer.slowSamples.weighted += seconds(work.excess) * seconds(work.excess + ms(1));
      ++f.trainer.slowSamples.batches;
    }
  f.trainer.slowSamples.median = ms(1);
  f.trainer.slowSamples.add(SlowSample{37, f.trace.strings.intern("/d/37.jpg"), ms(300)});
  return f;
}

}  // namespace

TEST_CASE("transform.slow_samples names the samples and plays the run without their excess") {
  const Judgement j = uneven(2).judge();
  const Finding* found = find(j, "transform.slow_samples");
  REQUIRE(found);
  CHECK(says(*found, "sample 37, /d/37.jpg: 300 ms"));
  const Advice* advice = adviceIn(*found, "even_samples");
  REQUIRE(advice);
  CHECK(advice->predicted.basis == Basis::kReplayed);
  // 160 ms a step; without the excess 4.
  REQUIRE(advice->predicted.speedup);
  CHECK(*advice->predicted.speedup > 10);
}

TEST_CASE("samples that sleep are not larger than others: what they wait for is to be shortened") {
  const Judgement j = uneven(2, true).judge();
  const Finding* found = find(j, "transform.slow_samples");
  REQUIRE(found);
  CHECK(found->shareRatio > 0.9);  // of what nothing else explains
  CHECK(adviceIn(*found, "shorten_waits"));
  CHECK_FALSE(adviceIn(*found, "even_samples"));
  CHECK(says(*found,
             "they wait: their batches take 63.3 ms of CPU for each second above the median"));
}

TEST_CASE("samples that wait behind a lock of the workers are not slow by themselves") {
  Facts f = uneven(2, true);
  f.trainer.workerLock.watched = f.trainer.window();
  f.trainer.workerLock.making = 2 * f.trainer.window();
  f.trainer.workerLock.waited = f.trainer.window();
  f.trainer.workerLock.byChance = 0.25 * seconds(f.trainer.window());
  f.trainer.workerLock.busy = seconds(f.trainer.window());
  f.trainer.workerLock.samples = 1000;
  const Judgement j = f.judge();
  CHECK(find(j, "transform.worker_lock"));
  CHECK_FALSE(find(j, "transform.slow_samples"));
}

TEST_CASE("transform.slow_samples is silent without any, and where they cost little") {
  Facts f = uneven(2);
  f.trainer.slowSamples = {};
  CHECK_FALSE(find(f.judge(), "transform.slow_samples"));
  f = uneven(2);
  for (BatchWork& work : f.trainer.works) work.excess = (work.end - work.begin) / 30;
  CHECK_FALSE(find(f.judge(), "transform.slow_samples"));
}
