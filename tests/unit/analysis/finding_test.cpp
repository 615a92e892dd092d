// SPDX-License-Identifier: MIT
// Each finding fires on a training made for it and stays silent on its neighbour.
#include <cmath>

#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"
#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

Training saving(double everyTenth) {
  return {.periodic = everyTenth / 10, .saveEvery = 10, .saveMs = everyTenth};
}

}  // namespace

TEST_CASE("compute.contention sees what waiting alone is blind to") {
  // the measured row E2, four workers: 31 ms a step of which 11 are starvation
  Training t{.workers = 4, .cores = 2, .compute = 31, .starved = 11, .batchCpu = 40};
  const Judgement j = factsOf(t).judge();
  const Finding* f = find(j, "compute.contention");
  REQUIRE(f);
  CHECK(bestSpeedup(*f) > 1.3);
  CHECK(j.verdict.healthy == Maybe<bool>(false));
  t.starved = 1.5;
  CHECK_FALSE(fires(t, "compute.contention"));
  t.starved = 11;
  t.workers = 0;
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

TEST_CASE("saves that samples find in steps gain by being rarer, as those that are timed do") {
  Facts f = factsOf(Training{});
  StackFacts& s = f.trainer.stacks;
  for (int i = 0; i < 400; ++i) s.trainer.add(&s + i);
  s.trainerTime = 4;
  s.overheads[static_cast<std::size_t>(OverheadKind::kCheckpoint)] = s.trainerTime / 3;
  const Judgement j = f.judge();
  const Advice* rarer = adviceIn(j, "periodic.checkpoint", "rarer_checkpoints");
  REQUIRE(rarer);
  CHECK(std::abs(*rarer->predicted.speedup - 1.2) < 0.03);
}

TEST_CASE("collections at one line may be calls of the program, of which less is known to gain") {
  const auto advised = [](const std::string& more, int line) {
    const Analysis a = analyze(test::traceOf(
        test::kTrainer + "0 stack stack=1 file=\"train.py\" function=\"main\" line=18\n" +
        "0 stack stack=2 file=\"train.py\" function=\"main\" line=" + std::to_string(line) +
        "\n0 stack stack=3 file=\"/u/site-packages/torch/nn/modules/module.py\" "
        "function=\"Module._call_impl\" line=9\nrepeat 200 every 50ms\n"
        "0ms slice thread=1 duration=50ms run=50ms samples=10 wait=running\n"
        "1ms stack_slice thread=1 duration=10ms stack=1 samples=2 gil=holds gc=1\n"
        "12ms stack_slice thread=1 duration=10ms stack=2 samples=2 gil=holds" +
        more +
        "\n23ms stack_slice thread=1 duration=24ms stack=3 samples=4 gil=released\n"
        "49ms optimizer thread=1 duration=1ms optimizer=1\nend\n"));
    const Finding* found = test::find(a, "periodic.gc");
    REQUIRE(found);
    return found->advice.at(0).change.from;
  };
  CHECK(advised(" gc=1", 18) == "at one line");
  CHECK(advised(" gc=1", 20) == "automatic");  // at two
  CHECK(advised("", 20) == "at one line");
  CHECK(advised("", 18) == "automatic");  // the line does other work, too
}

TEST_CASE("objects that are collected as a batch is received are of the phase that receives") {
  const auto boundBy = [](const Training& t) {
    Facts f = factsOf(t);
    StackFacts& s = f.trainer.stacks;
    for (int i = 0; i < 400; ++i) s.trainer.add(&s + i);
    s.trainerTime = 4;
    s.overheads[static_cast<std::size_t>(OverheadKind::kGc)] = s.trainerTime * 0.4;
    const Judgement j = f.judge();
    REQUIRE(find(j, "periodic.gc"));
    return find(j, "periodic.gc")->phase;
  };
  CHECK(boundBy(Training{.compute = 2, .load = 8}) == Phase::kLoad);
  CHECK(boundBy(Training{}) == Phase::kPeriodic);
  Training stopped{.compute = 2, .load = 8};
  stopped.periodic = 3;
  CHECK(boundBy(stopped) == Phase::kPeriodic);
}

TEST_CASE("periodic time without saves is not a checkpoint") {
  Training t;
  t.periodic = 3;
  CHECK_FALSE(fires(t, "periodic.checkpoint"));
}

namespace {

// Of 400 samples of the training thread `own` are in its own Python, `first` of those in one of two
// functions.
Judgement withPython(double own, double first, double others = 0) {
  Facts f = factsOf(Training{});
  f.run.externalCpuRatio = others;
  StackFacts& s = f.trainer.stacks;
  for (int i = 0; i < 400; ++i) {
    s.trainer.add(&s + i);
    s.step.add(Phase::kCompute, &s + i, 0.01);
  }
  s.gilKnown = 400;
  s.ownPython = own;
  s.trainerTime = 4;
  for (const std::uint32_t id : {1u, 2u}) {
    StackSeen frame;
    frame.stack = StackId{id};
    frame.function = f.trace.strings.intern(id == 1 ? "accuracy" : "main");
    frame.file = f.trace.strings.intern("train.py");
    f.trace.stacks.push_back({Nanos{}, frame});
    FunctionSamples function;
    function.phase = Phase::kCompute;
    function.hot = function.user = StackId{id};
    function.samples = function.ownPython = id == 1 ? first : own - first;
    s.functions.push_back(function);
  }
  return f.judge();
}

}  // namespace

TEST_CASE(
    "own Python below a fifth of the time is named with low confidence, if it is one function") {
  const Judgement much = withPython(120, 60);
  REQUIRE(find(much, "compute.python_overhead"));
  const Judgement beside = withPython(120, 60, 0.3);
  REQUIRE(find(beside, "compute.python_overhead"));
  CHECK(find(beside, "compute.python_overhead")->confidence <
        find(much, "compute.python_overhead")->confidence);
  CHECK(find(much, "compute.python_overhead")->confidence == Confidence::kHigh);
  const Judgement some = withPython(50, 45);
  const Finding* f = find(some, "compute.python_overhead");
  REQUIRE(f);
  CHECK(f->confidence == Confidence::kLow);
  CHECK(says(*f, "accuracy"));
  CHECK_FALSE(find(withPython(50, 25), "compute.python_overhead"));  // here and there
  CHECK_FALSE(find(withPython(36, 36), "compute.python_overhead"));  // 9 %
}

TEST_CASE("host findings fire on their own numbers only") {
  Facts f = factsOf(Training{});
  f.run.memoryPressureRatio = 0.04;
  f.run.swapPagesPerSecond = 5.0;
  f.run.throttledRatio = 0.01;
  f.run.externalCpuRatio = 0.04;
  for (const Finding& each : f.judge().findings) CHECK(each.id.substr(0, 4) != "host");
  f.run.memoryPressureRatio = 0.08;
  const Judgement pressed = f.judge();
  REQUIRE(find(pressed, "host.memory_pressure"));
  CHECK(find(pressed, "host.memory_pressure")->confidence == Confidence::kLow);  // whose is it?
  f.run.majorFaultsPerSecond = 50.0;
  const Judgement ours = f.judge();
  CHECK(find(ours, "host.memory_pressure")->confidence > Confidence::kLow);
  f.run.memoryPressureRatio = 0.0;
  f.run.swapPagesPerSecond = 500.0;
  CHECK(find(f.judge(), "host.memory_pressure"));
  f.run.throttledRatio = 0.2;
  CHECK(find(f.judge(), "host.cpu_throttled"));
  f.run.externalCpuRatio = 0.28;
  CHECK(find(f.judge(), "host.noisy_neighbour"));
  f.run.externalCpuRatio = 0.13;
  f.run.stealRatio = 0.13;
  CHECK(find(f.judge(), "host.noisy_neighbour"));
}

TEST_CASE(
    "compute.oversubscribed needs threads that spin, more of them than cores, and no idle cores") {
  Facts f = factsOf(Training{.workers = 0, .cores = 1});
  f.run.throttledRatio = 0.4;
  f.run.pool = PoolUse{.samples = 1000, .spins = 370, .threads = 2, .leaderSpins = 0.5};
  const Judgement j = f.judge();
  const Finding* found = find(j, "compute.oversubscribed");
  REQUIRE(found);
  REQUIRE(found->advice.size() == 1);
  CHECK(found->advice[0].id == "fewer_threads");
  CHECK(found->confidence == Confidence::kMedium);
  CHECK(found->advice[0].change.from == "2");
  CHECK(found->advice[0].change.to == "1");
  CHECK(found->advice[0].predicted.basis == Basis::kAssumed);
  CHECK(*found->advice[0].predicted.high <= 1 / (1 - 0.37) + 1e-9);
  f.run.threadsSet = ThreadsSet{4, {Untrusted("train.py"), Untrusted(), 20}};
  const Judgement its = f.judge();
  found = find(its, "compute.oversubscribed");
  REQUIRE(found);
  CHECK(found->where.line == 20);  // where the environment's number is overruled
  CHECK(found->advice.at(0).change.kind == "code");
  CHECK(found->advice.at(0).change.name == "torch.set_num_threads");
  CHECK(found->advice.at(0).change.from == "4");
  f.run.threadsSet->threads = 1;  // the wide pool is another
  const Judgement other = f.judge();
  found = find(other, "compute.oversubscribed");
  REQUIRE(found);
  CHECK(found->where.line == 0);
  CHECK(found->advice.at(0).change.name == "OMP_NUM_THREADS");
  f.run.threadsSet.reset();
  f.run.cores = 2;  // a thread for each
  CHECK_FALSE(find(f.judge(), "compute.oversubscribed"));
  f.run.externalCpuRatio = 0.2;  // another program takes less than half of one
  CHECK_FALSE(find(f.judge(), "compute.oversubscribed"));
  f.run.externalCpuRatio = 0.3;
  const Judgement beside = f.judge();
  found = find(beside, "compute.oversubscribed");
  REQUIRE(found);
  CHECK(found->advice.at(0).change.to == "1");
  CHECK(found->confidence == Confidence::kLow);
  CHECK(says(*found, "other programs keep 0.6 of these cores busy"));
  f.run.externalCpuRatio.reset();
  f.run.siblings = 1;  // which another rank uses too
  CHECK(find(f.judge(), "compute.oversubscribed"));
  f.run.siblingCpuRatio = 0.3;
  const Judgement shared = f.judge();
  REQUIRE(find(shared, "compute.oversubscribed"));
  CHECK(find(shared, "compute.oversubscribed")->confidence == Confidence::kLow);
  f.run.siblingCpuRatio.reset();
  f.run.siblings = 0;
  f.run.cores = 1;
  f.run.pool->spins = 60;  // its interval goes below 5 %
  CHECK_FALSE(find(f.judge(), "compute.oversubscribed"));
  f.run.pool->spins = 370;
  f.run.throttledRatio = 0.0;
  f.run.jobCpuRatio = 0.5;  // others of its cores are idle
  CHECK_FALSE(find(f.judge(), "compute.oversubscribed"));
  f.run.throttledRatio = 0.4;
  f.run.pool.reset();
  CHECK_FALSE(find(f.judge(), "compute.oversubscribed"));
}

TEST_CASE("what threads that are no more have worked is work for those that stay") {
  const auto maxGain = [](double besideWorks) {
    Facts f =
        factsOf(Training{.workers = 1, .cores = 2, .compute = 10, .trainerCpu = 10, .batchCpu = 0});
    f.trainer.processCpu = scaled(f.trainer.window(), 1.5);
    f.run.siblings = 1;
    f.run.pool = PoolUse{.samples = 1000,
                         .spins = 330,
                         .threads = 2,
                         .leaderSpins = 0.2,
                         .besideWorks = besideWorks};
    const Judgement j = f.judge();
    const Finding* found = find(j, "compute.oversubscribed");
    return found ? *found->advice.at(0).predicted.high : 0;
  };
  CHECK(maxGain(0) == Approx(1 / (1 - 0.2)));
  CHECK(maxGain(60) == Approx(1 / (1 - 0.2 + 0.09)));
  CHECK(maxGain(300) == 0);  // 45 % of a core: one thread would be slower
}

TEST_CASE(
    "what the step is queued for its own spinning threads leaves with them, but under a limit") {
  const auto gain = [](double throttled, double others) {
    Facts f = factsOf(Training{
        .workers = 0, .cores = 2, .compute = 10, .starved = 6, .trainerCpu = 4, .batchCpu = 0});
    f.trainer.processCpu = scaled(f.trainer.window(), 0.8);
    f.run.externalCpuRatio = others;
    f.run.throttledRatio = throttled;
    f.run.pool = PoolUse{.samples = 1000, .spins = 750, .threads = 2, .leaderSpins = 0.7};
    const Judgement j = f.judge();
    const Finding* found = find(j, "compute.oversubscribed");
    return found ? found->advice.at(0).predicted : Prediction();
  };
  // 0.6 of the time queued and 0.7 of 0.4 spinning: 0.88.
  CHECK(*gain(0, 0.5).high == Approx(1 / (1 - 0.88)));
  CHECK(*gain(0, 0.5).speedup == Approx(1 / (1 - 0.88)));  // one core is left to it
  CHECK(*gain(0, 0.65).speedup == Approx(0.7 / (1 - 0.88)));
  CHECK(*gain(0.4, 0.5).high == Approx(1 / (1 - 0.75)));
  CHECK(*gain(0.4, 0.65).speedup == Approx(1 / (1 - 0.75)));  // it is the limit's time
}

TEST_CASE("threads that spin beside what one thread does alone are no finding") {
  Facts f = factsOf(Training{.workers = 1, .cores = 8, .compute = 10});
  f.trainer.processCpu = scaled(f.trainer.window(), 5.5);
  f.run.throttledRatio = 0.4;
  f.run.siblings = 1;
  f.run.pool = PoolUse{.samples = 1000, .spins = 310, .threads = 8, .leaderSpins = 0.02};
  CHECK_FALSE(find(f.judge(), "compute.oversubscribed"));
}

TEST_CASE("what spins take of a CPU limit that is used up is time, wherever the job is stopped") {
  const auto maxGain = [](double throttled) {
    Facts f = factsOf(Training{.workers = 1, .cores = 1.5, .compute = 10, .batchCpu = 1});
    f.trainer.processCpu = scaled(f.trainer.window(), 1.4);
    f.run.jobCpuRatio = 0.98;
    f.run.throttledRatio = throttled;
    f.run.pool = PoolUse{.samples = 1000, .spins = 600, .threads = 4, .leaderSpins = 0.2};
    const Judgement j = f.judge();
    const Finding* found = find(j, "compute.oversubscribed");
    return found ? *found->advice.at(0).predicted.high : 0;
  };
  CHECK(maxGain(0.4) > 2);
  CHECK(maxGain(0.01) < 1.5);
}

TEST_CASE("workers leave the step's threads the cores that batches do not take") {
  const auto foundWith = [](double batchCpu) {
    Facts f = factsOf(Training{.workers = 1, .cores = 2, .batchCpu = batchCpu});
    f.run.throttledRatio = 0.4;
    f.run.pool = PoolUse{.samples = 1000, .spins = 370, .threads = 2, .leaderSpins = 0.5};
    const Judgement j = f.judge();
    const Finding* found = find(j, "compute.oversubscribed");
    return found ? found->advice.at(0).change.to : std::string();
  };
  CHECK(foundWith(8) == "1");
  CHECK(foundWith(0).empty());
}

TEST_CASE("others on cores of which enough are idle are no finding, and take no confidence") {
  Facts f = factsOf(Training{});
  f.run.jobCpuRatio = 0.3;
  const Confidence quiet = f.judge().verdict.confidence;
  f.run.externalCpuRatio = 0.5;
  Judgement j = f.judge();
  CHECK_FALSE(find(j, "host.noisy_neighbour"));
  CHECK(j.verdict.confidence == quiet);
  CHECK(j.caveats.empty());
  f.trainer.starved = f.trainer.window() / 10;  // it was queued: they were not idle for it
  CHECK(find(f.judge(), "host.noisy_neighbour"));
}

TEST_CASE("one thread that waits for a core is little of many cores, and all of its step") {
  Facts f = factsOf(Training{});
  f.run.cores = 8;
  f.run.jobCpuRatio = 0.06;
  f.run.externalCpuRatio = 0.93;
  f.run.queuedRatio = 0.06;
  f.trainer.cpu = f.trainer.window() / 2;
  f.trainer.starved = 45 * f.trainer.window() / 100;
  Judgement j = f.judge();
  const Finding* found = find(j, "host.noisy_neighbour");
  REQUIRE(found);
  CHECK(std::abs(found->shareRatio - 0.45) < 0.01);
  CHECK(std::abs(found->advice.at(0).predicted.speedup.value_or(0) - 1 / 0.55) < 0.02);
  CHECK(found->advice.at(0).predicted.basis == Basis::kAssumed);
  f.run.externalCpuRatio = 0.4;  // cores are idle: the job itself binds its thread to a busy one
  f.run.queuedRatio = 0.09;
  CHECK_FALSE(find(f.judge(), "host.noisy_neighbour"));
  f.run.jobCpuRatio = 0.93;  // the job's own threads had the cores
  f.run.externalCpuRatio = 0.06;
  CHECK_FALSE(find(f.judge(), "host.noisy_neighbour"));
}

TEST_CASE("what limits a run's figures and is no finding is a caveat") {
  Facts f = factsOf(Training{});
  f.run.externalCpuRatio = 0.1;
  Judgement j = f.judge();
  REQUIRE(j.caveats.size() == 1);
  CHECK(j.caveats[0].starts_with("Other programs used 10 % of the cores that this run may use"));
  CHECK_FALSE(find(j, "host.noisy_neighbour"));
  f.run.externalCpuRatio = 0.5;
  f.run.queuedRatio = 0.08;
  CHECK(f.judge().caveats.at(0) ==
        "Other programs used 50 % of the cores that this run may use, of which its threads waited "
        "for 8 %: intervals are widened by that.");
  f.run.queuedRatio = 0.02;  // nothing that is worth saying
  CHECK(f.judge().caveats.empty());
  f.run.queuedRatio.reset();
  f.run.externalCpuRatio = 0;
  f.run.stealRatio = 0.1;
  CHECK(f.judge().caveats.at(0) ==
        "The hypervisor took 10 % of the CPUs that this run may use (steal): intervals are widened "
        "by this share.");
  f.run.jobCpuRatio = 0.3;  // cores were idle: nothing was widened
  CHECK(f.judge().caveats.at(0) ==
        "The hypervisor took 10 % of the CPUs that this run may use (steal).");
  f.run.jobCpuRatio.reset();
  f.run.externalCpuRatio = 0.08;  // less than steal, and no less said
  CHECK(f.judge().caveats.size() == 2);
  f.run.externalCpuRatio = 0;
  f.run.stealRatio = 0;
  f.run.siblings = 3;
  f.run.siblingCpuRatio = 0.4;
  f.trainer.starved = f.trainer.window() / 4;
  j = f.judge();
  CHECK(j.caveats.at(0) ==
        "3 other recordings of this job on this host used 40 % of the cores that this run may use. "
        "They compete for cores: the trainer was runnable without one 25 % of the time.");
  CHECK_FALSE(find(j, "host.noisy_neighbour"));
  f.run.siblings = 0;
  f.run.coresRange = std::pair(0.6, 2.0);
  CHECK(f.judge().caveats.at(0).starts_with("The cores that this run may use changed between 0.6"));
}

TEST_CASE("every finding carries a title, a phase or a host's name, and numbers as evidence") {
  Facts f = reading(16e3);
  f.run.externalCpuRatio = 0.3;
  f.run.throttledRatio = 0.1;
  f.run.memoryPressureRatio = 0.1;
  for (const Finding& each : f.judge().findings) {
    CAPTURE(each.id);
    CHECK_FALSE(each.title.empty());
    CHECK_FALSE(each.advice.empty());
    bool number = false;
    for (const EvidenceItem& item : each.evidence) number = number || item.value.has_value();
    CHECK(number);
  }
}

TEST_CASE("a program that is not seen to train and does little but evaluate is not held up by it") {
  const auto evaluating = [](double part, std::uint64_t updates = 0, int samples = 400) {
    Facts f = factsOf(Training{});
    f.trainer.optimizerSteps = updates;
    StackFacts& s = f.trainer.stacks;
    for (int i = 0; i < samples; ++i) s.trainer.add(&s + i);
    s.trainerTime = 4;
    s.overheads[static_cast<std::size_t>(OverheadKind::kEvaluation)] = part * s.trainerTime;
    return f.judge();
  };
  const Judgement half = evaluating(0.5);
  REQUIRE(find(half, "periodic.evaluation"));
  CHECK(std::abs(bestSpeedup(*find(half, "periodic.evaluation")) - 2) < 0.05);
  CHECK_FALSE(find(evaluating(0.97), "periodic.evaluation"));
  CHECK_FALSE(find(evaluating(1), "periodic.evaluation"));
  const Judgement training = evaluating(1, 220);  // it evaluates far too often
  REQUIRE(find(training, "periodic.evaluation"));
  CHECK(bestSpeedup(*find(training, "periodic.evaluation")) <= 1 / 0.02);
  // Of a few samples the share is wide, and so is what is gained.
  const auto rarer = [](const Judgement& j) {
    const Finding* f = find(j, "periodic.evaluation");
    REQUIRE(f);
    REQUIRE(adviceIn(*f, "rarer_evaluation"));
    return std::pair(f->confidence, adviceIn(*f, "rarer_evaluation")->predicted);
  };
  const auto [sure, narrow] = rarer(evaluating(0.24, 220));
  const auto [unsure, wide] = rarer(evaluating(0.24, 220, 12));
  CHECK(sure == Confidence::kHigh);
  CHECK(unsure < Confidence::kHigh);
  CHECK(*wide.high - *wide.low > 2 * (*narrow.high - *narrow.low));
}
