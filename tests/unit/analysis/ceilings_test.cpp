// SPDX-License-Identifier: MIT
#include <cmath>

#include "analysis/model/pipeline_model.h"
#include "tests/catch.h"
#include "tests/unit/analysis/attributed.h"
#include "tests/unit/analysis/facts_builder.h"
#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

const Ceiling* of(const std::vector<Ceiling>& all, std::string_view stage) {
  for (const Ceiling& c : all)
    if (c.stage == stage) return &c;
  return nullptr;
}
bool about(double value, double wanted) { return std::abs(value - wanted) <= 0.02 * wanted; }

Training twoWorkers() {
  // 40 ms of CPU a batch, 2 workers: 20 ms a step, of which 10 computed
  return {.workers = 2, .cores = 4, .compute = 10, .waitTransform = 10, .batchCpu = 40};
}

}  // namespace

TEST_CASE("ceilings give each stage's best rate and the gap to it, slowest first") {
  const auto c = factsOf(twoWorkers()).judge().ceilings;
  REQUIRE(c.size() == 3);
  CHECK(c[0].stage == "transform");
  CHECK(about(c[0].stepsPerSecond, 50));
  CHECK(std::abs(c[0].gapRatio) < 0.02);
  CHECK(c[0].limitedBy == "2 workers");
  CHECK(about(of(c, "cpu")->stepsPerSecond, 80));  // (40 + 10) / 4 = 12.5 ms
  CHECK(about(of(c, "cpu")->gapRatio, 0.6));
  CHECK(about(of(c, "compute")->stepsPerSecond, 100));
}

TEST_CASE(
    "cores that are in use beside the pipeline are named where the CPU's ceiling lacks them") {
  Facts f = factsOf(twoWorkers());
  CHECK(of(f.judge().ceilings, "cpu")->limitedBy == "4 usable cores");
  f.run.besideCpuRatio = 0.25;
  CHECK(of(f.judge().ceilings, "cpu")->limitedBy ==
        "3 usable cores, others in use by other work of the job");
  f.run.besideCpuRatio = 0;
  f.run.externalCpuRatio = 0.25;
  CHECK(of(f.judge().ceilings, "cpu")->limitedBy == "3 usable cores, other cores in use");
}

TEST_CASE("a lock that holds batches up makes the ceiling one of transform") {
  const auto c = factsOf(Training{.workers = 2,
                                  .cores = 4,
                                  .compute = 10,
                                  .waitTransform = 10,
                                  .batchCpu = 5,
                                  .batchBlocked = 35})
                     .judge()
                     .ceilings;
  CHECK(of(c, "transform"));
  CHECK_FALSE(of(c, "extract"));
}

TEST_CASE("a bound that the run has beaten is no ceiling, and the report says what does not fit") {
  Training t = twoWorkers();
  t.cores = 2;
  Facts f = factsOf(t);
  f.run.externalCpuRatio = 0.6;  // 50 ms of CPU a step on 0.8 cores: the steps took 20 ms
  f.run.jobCpuRatio = 0.4;
  const Judgement j = f.judge();
  CHECK(of(j.ceilings, "cpu") == nullptr);
  for (const Ceiling& c : j.ceilings) CHECK(c.gapRatio >= 0);
  bool said = false;
  for (const std::string& line : j.notMeasured) said |= line.starts_with("the cpu ceiling (");
  CHECK(said);
}

TEST_CASE("the workers of a zipped loader are a ceiling, and bound what the others gain") {
  Facts f = factsOf(twoWorkers());
  const auto steps = static_cast<double>(f.trainer.windowSteps());
  f.trainer.zipped = {{.loader = 1, .workers = 3, .making = ms(54 * steps)}};
  const Judgement j = f.judge();
  const auto zipped = std::find_if(j.ceilings.begin(), j.ceilings.end(), [](const Ceiling& c) {
    return c.limitedBy == "3 workers of another loader, which the step uses, too";
  });
  REQUIRE(zipped != j.ceilings.end());
  CHECK(zipped->stage == "transform");
  CHECK(about(zipped->stepsPerSecond, 1000.0 / 18));
  // Alone, more workers make 20 ms a step 12.5 on four cores; beside the other loader 18.
  const auto gain = [](const Judgement& judged) {
    double best = 1;
    for (const Finding& found : judged.findings)
      for (const Advice& advice : found.advice)
        if (advice.predicted.speedup && advice.predicted.basis == Basis::kReplayed)
          best = std::max(best, *advice.predicted.speedup);
    return best;
  };
  CHECK(gain(factsOf(twoWorkers()).judge()) > 1.4);
  CHECK(gain(j) < 20.0 / 18 * 1.02);
}

TEST_CASE("of two loaders that hold a step up alike both get more workers") {
  Facts f = factsOf(twoWorkers());
  f.trainer.zipped = {
      {.loader = 1, .workers = 2, .making = ms(40 * static_cast<double>(f.trainer.windowSteps()))}};
  const Judgement j = f.judge();
  const Advice* more = adviceIn(j, "transform.too_few_workers", "more_workers");
  REQUIRE(more);
  CHECK(more->predicted.basis == Basis::kAssumed);
  CHECK(*more->predicted.speedup > 1.4);
  CHECK(more->risk.starts_with("make the same change for the loader that is zipped with it"));
}

TEST_CASE("loaders that are made again for each epoch are one, and iterators at a time several") {
  TrainerFacts t = factsOf(twoWorkers()).trainer;
  const Nanos all = ms(40 * static_cast<double>(t.windowSteps()));
  t.zipped = {{.loader = 1, .workers = 2, .making = all}};
  CHECK(about(workloadOf(t, Workers::kPersistent).zipped, 0.020));
  t.zipped[0].iterators = 2;
  CHECK(about(workloadOf(t, Workers::kPersistent).zipped, 0.010));
}

TEST_CASE("a zipped loader without workers adds its batches to the step") {
  Facts f = factsOf(Training{.workers = 0, .compute = 10, .waitTransform = 30, .batchCpu = 20});
  CHECK_FALSE(workloadOf(f.trainer, Workers::kNone).steps[0].own > 0.0101);
  f.trainer.zipped = {
      {.loader = 1, .making = ms(10 * static_cast<double>(f.trainer.windowSteps()))}};
  const Workload w = workloadOf(f.trainer, Workers::kNone);
  CHECK(about(w.steps[0].own, 0.020));
  CHECK(w.zipped == 0);
}

TEST_CASE("CPU demand, not wall time, makes the ceilings: queued time is left out") {
  Facts f = factsOf(twoWorkers());
  for (BatchWork& w : f.trainer.works) {
    w.queued = ms(100);
    w.end += ms(100);
  }
  CHECK(about(of(f.judge().ceilings, "transform")->stepsPerSecond, 50));
}

TEST_CASE("time without a core in a fetch of the trainer's own is not taken off the step's rest") {
  // 20 ms of compute, 15 of them on a CPU, and 40 of fetch, 30 of them.
  Facts f = factsOf(
      Training{.workers = 0, .compute = 20, .starved = 15, .waitTransform = 40, .batchCpu = 30});
  for (BatchWork& w : f.trainer.works) {
    w.queued = ms(10);
    w.end += ms(10);
  }
  CHECK(about(workloadOf(f.trainer, Workers::kNone).steps[0].own, 0.015));
}

TEST_CASE("the trainer's starvation is not its demand") {
  Training t = twoWorkers();
  t.compute = 15;
  t.starved = 5;
  t.waitTransform = 5;
  CHECK(about(of(factsOf(t).judge().ceilings, "compute")->stepsPerSecond, 100));
}

TEST_CASE("without workers the ceiling is the turn of fetch and compute") {
  Training t = twoWorkers();
  t.workers = 0;
  t.waitTransform = 40;
  const auto c = factsOf(t).judge().ceilings;
  CHECK(about(of(c, "transform")->stepsPerSecond, 20));
  CHECK(about(of(c, "compute")->stepsPerSecond, 100));
}

TEST_CASE("blocked producers make the ceiling one of extract") {
  Training t = twoWorkers();
  t.batchCpu = 10;
  t.batchIo = 30;
  t.waitTransform = 2.5;
  t.waitExtract = 7.5;
  const auto c = factsOf(t).judge().ceilings;
  CHECK(c[0].stage == "extract");
  CHECK(about(c[0].stepsPerSecond, 50));
}

TEST_CASE("a busy device gives a measured ceiling, an idle one none") {
  Facts f = factsOf(twoWorkers());
  f.run.readBytesPerSecond = 60e6;
  f.run.peakReadBytesPerSecond = 120e6;
  f.run.diskBusyRatio = 0.1;
  CHECK_FALSE(of(f.judge().ceilings, "extract"));
  f.run.diskBusyRatio = 0.9;
  const auto c = f.judge().ceilings;
  REQUIRE(of(c, "extract"));
  CHECK(of(c, "extract")->basis == "measured");
  CHECK(about(of(c, "extract")->stepsPerSecond, 100));  // twice the rate that was had
}

TEST_CASE("time spent saving lowers every ceiling") {
  Training t = twoWorkers();
  t.periodic = 5;
  CHECK(about(of(factsOf(t).judge().ceilings, "compute")->stepsPerSecond, 1000 / 15.0));
}

namespace {

// Five rounds, on one thread: 20 steps of 50 ms, of which 10 ms fetch, then `evaluation` of as long
// and, where asked for, a save of 200 ms after it.
std::string roundsOf(bool saves) {
  std::string text = test::kTrainer +
                     "manifest cores_usable=4\n0 loader process=1 loader=1 workers=0 batch_size=8\n"
                     "0 loader process=1 loader=2 workers=0 batch_size=8\n"
                     "0 usage process=1 cpu=0\n13s usage process=1 cpu=13s\n";
  for (int round = 0; round < 5; ++round) {
    const auto ms = [at = 1000 + 2200 * round](int t) { return std::to_string(at + t) + "ms "; };
    const std::string one = std::to_string(2 * round + 1), two = std::to_string(2 * round + 2);
    text += "repeat 20 every 50ms\n" + ms(0) + "fetch thread=1 loader=1 epoch=" + one +
            " duration=10ms cpu=10ms batch=0+1*i\n" + ms(45) +
            "optimizer thread=1 duration=5ms optimizer=1\nend\n" + ms(1000) +
            "fetch thread=1 loader=1 epoch=" + one + " duration=1ms end=1\n" +
            "repeat 10 every 99ms\n" + ms(1002) + "fetch thread=1 loader=2 epoch=" + two +
            " duration=10ms cpu=10ms batch=0+1*i\nend\n" + ms(1995) +
            "fetch thread=1 loader=2 epoch=" + two + " duration=1ms end=1\n";
    if (saves)
      text += ms(2000) +
              "span thread=1 duration=200ms phase=periodic source=hook name=\"torch.save\"\n";
  }
  return text;
}

}  // namespace

TEST_CASE("evaluation between epochs lowers every ceiling too, and keeps no second core busy") {
  const Trace trace = test::traceOf(roundsOf(false));
  const Analysis a = analyze(trace);
  const Ceiling* turn = of(a.ceilings, "transform");
  REQUIRE(turn);
  CHECK(std::abs(turn->gapRatio) < 0.05);  // fetch and compute take turns: that is the pace
  const TrainerFacts facts = attribute(trace, {ProcessId{1}, ThreadId{1}});
  CHECK(std::abs(workloadOf(facts, Workers::kNone).trainerCpuRatio - 1) < 0.1);
}

TEST_CASE("rarer saves gain what they take, with evaluation beside them") {
  const Analysis a = analyze(test::traceOf(roundsOf(true)));
  const Finding* saves = test::find(a, "periodic.checkpoint");
  REQUIRE(saves);
  const Advice* rarer = test::adviceIn(*saves, "rarer_checkpoints");
  REQUIRE(rarer);
  REQUIRE(rarer->predicted.speedup);
  CHECK(std::abs(*rarer->predicted.speedup - 1 / (1 - saves->shareRatio / 2)) < 0.015);
}

TEST_CASE("heavy tails say how much of the workers in-order delivery leaves") {
  Training t = twoWorkers();
  t.workers = 8;
  t.cores = 16;
  t.batchScale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10};
  const auto c = factsOf(t).judge().ceilings;
  REQUIRE(of(c, "transform"));
  CHECK(of(c, "transform")->limitedBy.find("in-order") != std::string::npos);
}

TEST_CASE("no steps, no ceilings") {
  Training t = twoWorkers();
  t.steps = 0;
  CHECK(factsOf(t).judge().ceilings.empty());
}
