// SPDX-License-Identifier: MIT
#include <cmath>

#include "analysis/model/gains.h"
#include "analysis/model/pipeline_model.h"
#include "tests/catch.h"
#include "tests/unit/analysis/draw_in_order.h"

using namespace stallprof;

namespace {

// Uniform in (0, 1) from a counter: the tests' own source of luck, the same everywhere.
double luck(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

Workload steady(double io, double cpu, double own, double trainerCpuRatio, std::size_t n = 400) {
  Workload w;
  BatchDemand b;
  b.io = io;
  b.cpu = cpu;
  w.batches.assign(n, b);
  w.steps.assign(n, {own, 0, 0});
  w.trainerCpuRatio = trainerCpuRatio;
  return w;
}

PipelineSettings settings(int workers, double cores, int prefetch = 2, bool inOrder = true) {
  PipelineSettings s;
  s.workers = workers;
  s.cores = cores;
  s.prefetch = prefetch;
  s.inOrder = inOrder;
  return s;
}

double play(const Workload& w, const PipelineSettings& s) {
  return simulate(w, s, test::drawInOrder(w.steps.size()));
}

bool nearly(double value, double wanted, double tolerance) {
  return std::abs(value - wanted) <= tolerance * wanted;
}

// Batches that only sleep, a trainer four times faster than they are: how much of the workers' time
// in-order delivery leaves usable. Simulated once with another program, as a check.
double efficiency(const std::vector<double>& batch, int workers, int prefetch, bool inOrder) {
  Workload w;
  double sum = 0;
  for (const double b : batch) {
    w.batches.push_back({b, 0, 0, 1, 0});
    sum += b;
  }
  const double ideal = sum / static_cast<double>(batch.size()) / workers;
  w.steps.assign(batch.size(), {ideal / 4, 0, 0});
  w.trainerCpuRatio = 0;
  return ideal / play(w, settings(workers, 1e6, prefetch, inOrder));
}

std::vector<double> tail(std::size_t n) {
  std::vector<double> v;
  for (std::size_t i = 0; i < n; ++i) v.push_back(luck(i) < 0.05 ? 10.0 : 1.0);
  return v;
}
std::vector<double> exponential(std::size_t n) {
  std::vector<double> v;
  for (std::size_t i = 0; i < n; ++i) v.push_back(-std::log(luck(i)));
  return v;
}
std::vector<double> normal(std::size_t n, double cv) {
  std::vector<double> v;
  for (std::size_t i = 0; i < n; ++i) {
    const double z =
        std::sqrt(-2 * std::log(luck(2 * i))) * std::cos(6.283185307 * luck(2 * i + 1));
    v.push_back(std::max(0.01, 1 + cv * z));
  }
  return v;
}

}  // namespace

TEST_CASE("without workers a step is fetch plus compute") {
  CHECK(nearly(play(steady(0.005, 0.040, 0.020, 1), settings(0, 2)), 0.065, 1e-6));
}

TEST_CASE("with steady batches the step is the larger of compute and S/W") {
  for (const int workers : {1, 2, 3, 4, 8}) {
    const double expected = std::max(0.010, 0.040 / workers);
    CHECK(nearly(play(steady(0.040, 0, 0.010, 0), settings(workers, 1e6)), expected, 0.01));
  }
}

TEST_CASE("what a program works for a batch that waits for it takes cores") {
  TrainerFacts t;
  t.windowEnd = fromSeconds(10);
  for (std::uint32_t i = 0; i < 100; ++i) {
    BatchWork work;
    work.step = i;
    work.begin = fromSeconds(0.1 * i);
    work.end = work.begin + fromSeconds(0.4);
    work.threadCpu = work.cpu = fromSeconds(0.04);
    work.blocked = fromSeconds(0.36);
    t.works.push_back(work);
    t.steps.emplace_back();
  }
  const BatchDemand without = workloadOf(t, Workers::kPersistent).batches.at(0),
                    with = workloadOf(t, Workers::kPersistent, 70).batches.at(0);
  CHECK(nearly(without.coreSeconds(), 0.04, 1e-9));
  CHECK(nearly(with.coreSeconds(), 0.74, 1e-9));  // 0.7 s a batch
  CHECK(nearly(with.alone(), without.alone(), 1e-9));
  CHECK(with.blocked < 1e-9);
}

TEST_CASE("what a worker's own pool works while its thread waits for it is no wait beside that") {
  const auto demand = [](double thread, double process) {
    TrainerFacts t;
    t.windowEnd = fromSeconds(10);
    BatchWork work;
    work.end = fromSeconds(0.4);
    work.threadCpu = fromSeconds(thread);
    work.cpu = fromSeconds(process);
    work.blocked = fromSeconds(0.4 - thread);
    t.works.push_back(work);
    t.steps.emplace_back();
    return workloadOf(t, Workers::kPersistent).batches.at(0);
  };
  for (const double thread : {0.04, 0.3, 0.4}) {
    const BatchDemand one = demand(thread, 0.4);
    CHECK(nearly(one.alone(), 0.4, 1e-9));
    CHECK(nearly(one.cpu, 0.4, 1e-9));
    CHECK(nearly(one.pool, 1, 1e-9));
  }
  const BatchDemand four = demand(0.04, 1.6);
  CHECK(nearly(four.cpu, 0.4, 1e-9));
  CHECK(nearly(four.coreSeconds(), 1.6, 1e-9));
  CHECK(nearly(demand(0.1, 0.2).blocked, 0.2, 1e-9));  // 0.1 s of it the pool works
}

TEST_CASE("no step is shorter than a loader needs that is zipped with this one") {
  Workload w = steady(0.040, 0, 0.010, 0);
  w.zipped = 0.015;
  CHECK(nearly(play(w, settings(2, 1e6)), 0.020, 0.01));
  CHECK(nearly(play(w, settings(4, 1e6)), 0.015, 0.01));
  w.stepsPerEpoch = 20;
  CHECK(nearly(play(w, settings(8, 1e6)), 0.015, 0.01));
}

TEST_CASE("CPU work beyond the cores shares them: the measured E1 rows within 5 %") {
  // Measured: prep of 40 ms CPU, a sleeping step of 10 ms, on 2 cores.
  const double measured[] = {0.0403, 0.0203, 0.0202, 0.0201};
  const int workers[] = {1, 2, 4, 8};
  for (int i = 0; i < 4; ++i)
    CHECK(nearly(play(steady(0, 0.040, 0.010, 0), settings(workers[i], 2)), measured[i], 0.05));
}

TEST_CASE("a trainer that computes on the same cores is slowed by them: the E2 rows within 7 %") {
  const double measured[] = {0.0601, 0.0403, 0.0309, 0.0306, 0.0312, 0.0311};
  const int workers[] = {0, 1, 2, 4, 8, 16};
  for (int i = 0; i < 6; ++i)
    CHECK(nearly(play(steady(0, 0.040, 0.020, 1), settings(workers[i], 2)), measured[i], 0.07));
}

TEST_CASE("waiting for storage overlaps: the E3 rows within 10 %") {
  const double measured[] = {0.0404, 0.0201, 0.0136, 0.0111, 0.0104};
  const int workers[] = {1, 2, 3, 4, 8};
  Workload w = steady(0.030, 0.010, 0.010, 0);
  // A tenth of deviation, as real batches have: exactly equal ones would march in step for ever.
  const auto vary = normal(w.batches.size(), 0.1);
  for (std::size_t i = 0; i < vary.size(); ++i) w.batches[i].io *= vary[i];
  for (int i = 0; i < 5; ++i) {
    const double time = play(w, settings(workers[i], 2));
    CAPTURE(workers[i], time);
    CHECK(nearly(time, measured[i], 0.10));
  }
}

TEST_CASE("in-order delivery loses what the table of head-of-line efficiency says") {
  const std::size_t n = 8000;
  struct Row {
    std::vector<double> batch;
    double wanted[4];      // W = 2, 4, 8, 16 at prefetch 2
    double prefetched[2];  // W = 8 at prefetch 4 and 8
    double free;           // W = 8 out of order
  };
  const Row rows[] = {{normal(n, 0.1), {.997, .992, .988, .985}, {.995, .997}, 1.0},
                      {normal(n, 0.3), {.97, .95, .93, .90}, {.97, .98}, 1.0},
                      {exponential(n), {.83, .70, .60, .52}, {.73, .85}, 1.0},
                      {tail(n), {.80, .63, .48, .39}, {.61, .73}, .98}};
  for (const Row& row : rows) {
    const int workers[] = {2, 4, 8, 16};
    for (int i = 0; i < 4; ++i)
      CHECK(nearly(efficiency(row.batch, workers[i], 2, true), row.wanted[i], 0.06));
    CHECK(nearly(efficiency(row.batch, 8, 4, true), row.prefetched[0], 0.06));
    CHECK(nearly(efficiency(row.batch, 8, 8, true), row.prefetched[1], 0.06));
    CHECK(nearly(efficiency(row.batch, 8, 2, false), row.free, 0.04));
  }
}

TEST_CASE("no arrangement beats the cores, the workers or the trainer") {
  Workload w = steady(0, 0, 0, 1);
  double cpu = 0, own = 0, alone = 0;
  for (std::size_t i = 0; i < w.batches.size(); ++i) {
    w.batches[i] = {0.01 * luck(i), 0, 0.02 * luck(i + 1000), 1 + luck(i + 3000), 0};
    w.steps[i] = {0.01 * luck(i + 2000), 0, 0};
    cpu += w.batches[i].coreSeconds() + w.steps[i].own;
    own += w.steps[i].own;
    alone += w.batches[i].alone();
  }
  // Whole epochs, so that no batch is made outside the time that is measured.
  w.stepsPerEpoch = static_cast<double>(w.steps.size()) / 2;
  const auto n = static_cast<double>(w.steps.size());
  for (const int workers : {1, 2, 5})
    for (const double cores : {1.0, 2.0, 3.5})
      for (const bool inOrder : {true, false}) {
        const double time = play(w, settings(workers, cores, 2, inOrder));
        CHECK(time >= std::max({cpu / n / cores, own / n, alone / n / workers}) * (1 - 1e-9));
        CHECK(time <= (own + alone + cpu) / n * 2.5);
      }
}

TEST_CASE("workers that are started again add their start to every epoch, persistent ones do not") {
  Workload w = steady(0.010, 0, 0.010, 0, 200);
  w.stepsPerEpoch = 20;
  w.startup = 0.100;
  PipelineSettings s = settings(2, 8);
  const double again = play(w, s);
  s.persistent = true;
  const double kept = play(w, s);
  CHECK(nearly(again - kept, 0.100 / 20, 0.01));
  // Long epochs are not played whole: the start is spread over them.
  w.stepsPerEpoch = 1000;
  CHECK(nearly(play(w, settings(2, 8)), 0.010 + (0.100 + 0.010) / 1000, 0.01));
}

TEST_CASE(
    "where workers are started again an epoch begins slowly, with persistent ones it does not") {
  // Epochs of four batches by two workers: the first two of them take 50 ms, the others 10; the
  // first step takes 5 ms, the others 1.
  Workload w = steady(0.010, 0, 0.001, 0, 200);
  w.stepsPerEpoch = 4;
  const auto begins = [&](std::size_t shift) {
    w.ofBatches = w.ofSteps = {};
    for (std::size_t i = 0; i < w.batches.size(); ++i) {
      const std::size_t at = (i + shift) % 4;
      w.batches[i].first = at < 2;
      w.batches[i].io = at < 2 ? 0.050 : 0.010;
      w.steps[i].first = at == 0;
      w.steps[i].own = at == 0 ? 0.005 : 0.001;
      (at < 2 ? w.ofBatches.firsts : w.ofBatches.others).push_back(i);
      (at == 0 ? w.ofSteps.firsts : w.ofSteps.others).push_back(i);
    }
  };
  // Epochs are played from other batches on than they began with, too.
  for (std::size_t shift = 0; shift < 4; ++shift) {
    begins(shift);
    PipelineSettings s = settings(2, 8);
    const double started = (0.050 + 0.010 + 0.001 * 2) / 4;
    CHECK(nearly(play(w, s), started, 0.01));
    s.persistent = true;
    CHECK(nearly(play(w, s), (0.010 + 0.010 + 0.001 * 2) / 4, 0.01));
    s.slowFirsts = true;
    CHECK(nearly(play(w, s), started, 0.01));
    CHECK(nearly(play(w, settings(0, 8)), 0.011, 0.01));  // made in the training's own process
  }
  w.ofBatches = {};  // steps alone
  for (BatchDemand& batch : w.batches) batch = {};
  PipelineSettings s = settings(2, 8);
  CHECK(nearly(play(w, s), (0.005 + 3 * 0.001) / 4, 0.01));
  s.persistent = true;
  CHECK(nearly(play(w, s), 0.001, 0.01));
}

TEST_CASE("what began an epoch is known by its number, where workers are started for each") {
  TrainerFacts t;
  t.windowEnd = std::chrono::seconds(1);
  for (std::uint32_t i = 0; i < 8; ++i) {  // two epochs of four batches by two workers
    Step step;
    step.number = i;
    step.batch = i % 4;
    t.steps.push_back(step);
    BatchWork work;
    work.step = i;
    work.batch = step.batch;
    work.worker = static_cast<std::int32_t>(i % 2);
    work.begin = std::chrono::milliseconds(i * 10);
    work.end = work.begin + std::chrono::milliseconds(5);
    t.works.push_back(work);
  }
  const Workload w = workloadOf(t, Workers::kStartedEachEpoch);
  CHECK(w.ofBatches.firsts == std::vector<std::size_t>{0, 1, 4, 5});
  CHECK(w.ofBatches.others == std::vector<std::size_t>{2, 3, 6, 7});
  CHECK(w.ofSteps.firsts == std::vector<std::size_t>{0, 4});
  CHECK(w.ofSteps.others.size() == 6);
  for (const Workers workers : {Workers::kPersistent, Workers::kNone}) {
    const Workload same = workloadOf(t, workers);
    CHECK(same.ofBatches.others.empty());
    CHECK(same.ofSteps.others.empty());
  }
}

TEST_CASE("persistent workers never make evaluation longer, nor save a loader's first start") {
  Workload w = steady(0, 0.020, 0.001, 0);
  w.meanBatch = w.batches[0];
  w.apart = 0.030;
  w.evaluation = {.start = 0.020, .count = 0.1, .batches = 0.2};
  PipelineSettings kept = settings(1, 8);
  const double now = play(w, kept);
  kept.persistent = true;
  CHECK(nearly(now - play(w, kept), 0.018, 0.02));  // a tenth of a batch is awaited
  w.evaluation.firstStart = 1;
  CHECK(nearly(play(w, kept), now, 0.001));
  w.evaluation.firstStart = 0;
  w.evaluation.count = 5;  // its batches take longer than its start
  CHECK(nearly(play(w, kept), now, 0.001));
}

TEST_CASE("a worker's pool slows with the cores it asks for") {
  Workload w = steady(0, 0.020, 0.001, 0);
  for (auto& b : w.batches) b.pool = 4;
  CHECK(nearly(play(w, settings(2, 8)), 0.010, 0.02));  // 8 runnable on 8 cores
  CHECK(nearly(play(w, settings(2, 2)), 0.040, 0.02));  // 8 runnable on 2 cores
  PipelineSettings one = settings(2, 2);
  one.singleThreaded = true;  // the same CPU on one thread each
  CHECK(nearly(play(w, one), 0.040, 0.02));
}

TEST_CASE("the same arguments give the same answer, and nothing gives nothing") {
  const Workload w = steady(0.01, 0.01, 0.01, 0.5);
  const Draw a = drawBlocks(400, 300, 20, 7), b = drawBlocks(400, 300, 20, 7);
  CHECK(a == b);
  CHECK(a != drawBlocks(400, 300, 20, 8));
  CHECK(simulate(w, settings(3, 2), a) == simulate(w, settings(3, 2), b));
  CHECK(simulate(Workload{}, settings(3, 2), a) == 0);
  CHECK(simulate(w, settings(3, 2), {}) == 0);
  CHECK(drawBlocks(0, 300, 20, 7).empty());
}

TEST_CASE("drawn blocks hold neighbours and stay inside the trace") {
  const Draw d = drawBlocks(50, 200, 10, 3);
  REQUIRE(d.size() == 200);
  for (std::size_t i = 0; i < d.size(); ++i) {
    CHECK(d[i] < 50);
    if (i % 10 != 0) CHECK(d[i] == d[i - 1] + 1);
  }
}

TEST_CASE("a prediction is a ratio: a base that is off by 10 % cancels, by 20 % abstains") {
  const Workload w = steady(0, 0.040, 0.010, 0);
  PipelineSettings more = settings(4, 8);
  const Gains right(w, settings(2, 8), 0.020, 0), off(w, settings(2, 8), 0.022, 0),
      wrong(w, settings(2, 8), 0.024, 0);
  CHECK(nearly(*right.predict(more).speedup, 2, 0.02));
  CHECK(nearly(*off.predict(more).speedup, 2, 0.02));
  const PipelineSettings some = settings(3, 8);
  CHECK(*off.predict(some).high > *right.predict(some).high);
  CHECK_FALSE(wrong.fits());
  CHECK_FALSE(wrong.predict(more).speedup.has_value());
  CHECK_FALSE(wrong.predict(more).low.has_value());
  CHECK(wrong.speedup(more) == 1);
}

TEST_CASE("the interval holds the point and widens with other tenants") {
  Workload w = steady(0, 0.040, 0.010, 0);
  for (std::size_t i = 0; i < w.batches.size(); ++i) w.batches[i].cpu *= 0.5 + luck(i);
  const double base = play(w, settings(2, 8));
  const Prediction quiet = Gains(w, settings(2, 8), base, 0).predict(settings(4, 8));
  const Prediction noisy = Gains(w, settings(2, 8), base, 0.2).predict(settings(4, 8));
  CHECK(*quiet.low < *quiet.speedup);
  CHECK(*quiet.speedup < *quiet.high);
  CHECK(*noisy.high - *noisy.low > *quiet.high - *quiet.low);
}

TEST_CASE("no loading is predicted to make a run faster than data that is always ready") {
  const Gains gains(steady(0, 0.040, 0.010, 0), settings(2, 8), 0.020, 0.2);
  const Prediction four = gains.predict(settings(4, 8));
  CHECK(*four.speedup <= *four.high);
  CHECK(nearly(*four.high, 2 * (1 + kModelError), 0.01));  // 20 ms for the step's own 10
  PipelineSettings shorter = settings(4, 8);
  shorter.ownScale = 0.5;
  CHECK(*gains.predict(shorter).high > 2.5);
}

TEST_CASE("the interval is wider, the more a change changes") {
  const Workload w = steady(0, 0.040, 0.010, 0);
  const double base = play(w, settings(1, 8));
  const auto width = [&](int workers) {
    const Prediction p = Gains(w, settings(1, 8), base, 0).predict(settings(workers, 8));
    return *p.high / *p.low;
  };
  CHECK(width(4) > 1.2 * width(1));
  CHECK(width(1) < 1.11);  // what the model misses alone
}

TEST_CASE("the interval of few steps is of draws that differ") {
  Workload w = steady(0, 0.040, 0.010, 0, 20);
  for (std::size_t i = 0; i < w.steps.size(); ++i) w.steps[i].own = i % 7 == 3 ? 0.2 : 0.005;
  const PipelineSettings base = settings(2, 8);
  const Gains gains(w, base, play(w, base), 0);
  PipelineSettings faster = base;
  faster.ownScale = 0.25;
  const Prediction p = gains.predict(faster);
  REQUIRE(p.speedup.has_value());
  CHECK(*p.low < *p.speedup * (1 - 2 * kModelError));
  CHECK(*p.high > *p.speedup * (1 + 2 * kModelError));
}

TEST_CASE("the best number of workers is the fewest that reach the best time") {
  const Gains gains(steady(0, 0.040, 0.010, 0), settings(1, 8), 0.040, 0);
  CHECK(gains.bestWorkers(settings(1, 8), 1, 16) == 4);  // 40 / 10
  CHECK(gains.bestWorkers(settings(1, 8), 1, 2) == 2);
  CHECK(gains.bestWorkers(settings(1, 2), 1, 16) == 2);  // two cores
}
