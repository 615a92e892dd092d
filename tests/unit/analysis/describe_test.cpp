// SPDX-License-Identifier: MIT
#include "analysis/describe/describe.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "tests/unit/analysis/attributed.h"
#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// Steps of these lengths in ms, end to end; all are in the window.
TrainerFacts stepsOf(std::initializer_list<int> lengths) {
  TrainerFacts facts;
  facts.source = StepSource::kHook;
  Nanos at{};
  for (const int length : lengths) {
    Step step;
    step.number = static_cast<std::uint32_t>(facts.steps.size());
    step.begin = at;
    step.end = at += std::chrono::milliseconds(length);
    facts.steps.push_back(step);
  }
  facts.windowEnd = at;
  return facts;
}

}  // namespace

TEST_CASE("what befell a run from outside is said") {
  const std::string begun = "manifest started=1s\n2s cgroup oom_kills=3\n3s cgroup oom_kills=3\n";
  CHECK(remarksOf(traceOf(begun)).empty());
  CHECK(remarksOf(traceOf(begun + "4s cgroup oom_kills=4\n")) ==
        std::vector<std::string>{"The control group of the run had no memory left: the kernel "
                                 "killed 1 process of it."});
  CHECK(remarksOf(traceOf(begun + "4s host shm_used=90 shm_total=100\n")).empty());
  const std::string maps = begun + "manifest map=\"forward=compute\"\nmanifest map=\"fwd*=load\"\n";
  CHECK(remarksOf(traceOf(maps)).size() == 2);
  CHECK(remarksOf(traceOf(maps))[1] == "--map 'fwd*=load' fits no range of the run: it has none.");
  CHECK(remarksOf(traceOf(maps + "4s range thread=1 duration=1s name=\"forward\"\n"
                                 "5s range thread=1 duration=1s name=\"copy\"\n")) ==
        std::vector<std::string>{"--map 'fwd*=load' fits no range of the run, whose ranges are "
                                 "'forward', 'copy'."});
  const auto full = remarksOf(traceOf(begun + "4s host shm_used=999 shm_total=1000\n"));
  REQUIRE(full.size() == 1);
  CHECK(full[0].starts_with("/dev/shm was full (1 kB)"));
  CHECK(remarksOf(traceOf(begun + "4s gap duration=2s why=\"recorder stopped\"\n"
                                  "5s gap why=\"clock set: the wall clock moved by +9.0 s\"\n")) ==
        std::vector<std::string>{"During the run: clock set: the wall clock moved by +9.0 s."});
  CHECK(remarksOf(traceOf(begun + "4s cgroup oom_kills=4\n4s host shm_used=999 shm_total=1000\n"
                                  "5s gap why=\"a\"\n6s gap why=\"b\"\n7s gap why=\"c\"\n8s gap "
                                  "why=\"d\"\n"))
            .size() == 5);  // three of the clock
}

TEST_CASE("a window that is a small part of the run is said to be") {
  const Trace trace = traceOf("manifest started=1s\nmanifest command=\"a\"\n2s host\n");
  RunInfo run;
  run.wall = 900s;
  TrainerFacts facts;
  facts.windowBegin = 841s;
  facts.windowEnd = 891s;
  CHECK(outsideWindow(trace, facts, run) ==
        "The window of steps is 6 % of the run: 14 min 0 s before it and 10 s after it are in no "
        "share.");
  facts.windowBegin = 401s;
  CHECK(outsideWindow(trace, facts, run).empty());
  run.wall = 990s;  // it may hang
  facts.windowBegin = 841s;
  CHECK(outsideWindow(trace, facts, run) ==
        "No step ended in the last 100 s of the run, which are in no share.");
  run.wall = 30s;  // imports take as long
  facts.windowBegin = 21s;
  facts.windowEnd = 31s;
  CHECK(outsideWindow(trace, facts, run).empty());
}

TEST_CASE("the framework of a run is the one that updates the model") {
  const std::string seen =
      "1s framework process=1 name=\"torch\" version=\"2.4\"\n"
      "2s framework process=1 name=\"jax\" version=\"0.4\"\n";
  CHECK(describeRun(traceOf(seen)).framework == "torch 2.4");
  CHECK(describeRun(traceOf(seen + "3s optimizer thread=1 duration=5ms optimizer=131073\n"))
            .framework == "jax 0.4");
  CHECK(describeRun(traceOf(seen + "3s optimizer thread=1 duration=5ms optimizer=1\n")).framework ==
        "torch 2.4");
}

TEST_CASE("samples a second are of a loader that the training consumes") {
  const std::string filled =
      "0s loader process=1 loader=1 kind=\"torch.DataLoader\" workers=0 batch_size=64\n"
      "repeat 20 every 10ms\n1s fetch thread=1 loader=1 epoch=1 duration=1ms batch=0+1*i\nend\n"
      "1200ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n";
  const std::string updates =
      "repeat 100 every 50ms\n2s optimizer thread=1 duration=5ms optimizer=1\nend\n";
  const auto samples = [](const std::string& text) {
    const Trace trace = traceOf(kTrainer + text);
    return describeSteps(trace, factsOf(trace)).samplesPerSecond;
  };
  CHECK_FALSE(samples(filled + updates));
  const std::string first =
      "repeat 20 every 10ms\n1005ms optimizer thread=1 duration=1ms optimizer=1\nend\n";
  const auto cycled = samples(filled + first + updates);
  REQUIRE(cycled);
  CHECK(*cycled == Approx(64 * 20).epsilon(0.05));
}

TEST_CASE("the batch size of the steps is named where the loaders of the run have several") {
  const auto sizeOf = [](int evaluation) {
    const std::string loader = "0s loader process=1 kind=\"torch.DataLoader\" workers=0 loader=";
    const Trace trace =
        traceOf(kTrainer + loader + "1 batch_size=64\n" + loader +
                "2 batch_size=" + std::to_string(evaluation) +
                "\nrepeat 20 every 10ms\n"
                "1s fetch thread=1 loader=1 epoch=1 duration=1ms batch=0+1*i\n"
                "1005ms optimizer thread=1 duration=1ms optimizer=1\nend\n"
                "1200ms fetch thread=1 loader=1 epoch=1 duration=1ms end=1\n"
                "repeat 10 every 10ms\n"
                "1300ms fetch thread=1 loader=2 epoch=2 duration=1ms batch=0+1*i\nend\n"
                "1400ms fetch thread=1 loader=2 epoch=2 duration=1ms end=1\n");
    return describeSteps(trace, factsOf(trace)).batchSize;
  };
  CHECK(sizeOf(32) == 64);
  CHECK_FALSE(sizeOf(64));
  CHECK_FALSE(sizeOf(-1));
}

TEST_CASE("an end by TERM after --steps or --for was asked for, any other was not") {
  const std::vector<Untrusted> steps = {Untrusted("--steps"), Untrusted("60")},
                               time = {Untrusted("--threads"), Untrusted("2"), Untrusted("--for"),
                                       Untrusted("9")};
  CHECK(endedAsAsked(steps, {}, 15));
  CHECK(endedAsAsked(time, 143, {}));
  CHECK_FALSE(endedAsAsked(steps, {}, 9));
  CHECK_FALSE(endedAsAsked(steps, 1, {}));
  CHECK_FALSE(endedAsAsked(steps, {}, {}));
  CHECK_FALSE(endedAsAsked({}, {}, 15));
  CHECK_FALSE(endedAsAsked({Untrusted("--set"), Untrusted("num_workers=4")}, 143, {}));
}

TEST_CASE("a run says how it ended: by code, by signal, unknown, or not yet") {
  const std::string begun = "manifest started=1s\nmanifest command=\"a\"\n2s host\n";
  SECTION("by code") {
    const RunInfo run = describeRun(traceOf(begun + "5s command_end exit_code=3\n9s host\n"));
    CHECK(run.ended);
    CHECK(run.exitCode == 3);
    CHECK(!run.exitSignal);
    CHECK(run.wall == 4s);
  }
  SECTION("by signal") {
    const RunInfo run = describeRun(traceOf(begun + "5s command_end signal=9\n"));
    CHECK(!run.exitCode);
    CHECK(run.exitSignal == 9);
  }
  SECTION("whoever waited for it died first: ended, no status known") {
    const RunInfo run = describeRun(traceOf(begun + "5s command_end exit_code=-1 signal=-1\n"));
    CHECK(run.ended);
    CHECK(!run.exitCode);
    CHECK(!run.exitSignal);
    CHECK(run.wall == 4s);
  }
  SECTION("still running, or cut off") {
    const RunInfo run = describeRun(traceOf(begun + "8s host\n"));
    CHECK(!run.ended);
    CHECK(!run.exitCode);
    CHECK(run.wall == 7s);
  }
}

TEST_CASE("an empty recording describes a run of no length") {
  const RunInfo run = describeRun(Trace{});
  CHECK(run.wall == 0s);
  CHECK(!run.ended);
  CHECK(run.processes == 0);
  CHECK(!run.framework);
  CHECK(run.startedAt.empty());  // not known
  Trace dated;
  dated.manifest.startedRealtime = 1'767'225'600s;
  CHECK(describeRun(dated).startedAt == "2026-01-01T00:00:00Z");
  const CoverageInfo coverage = describeCoverage(Trace{});
  CHECK(coverage.hostTier == "T0");
  CHECK(!coverage.recorderPid);
  CHECK(!coverage.recorderCpuRatio);
}

TEST_CASE("a loader recreated for each epoch is listed once, another of the same line too") {
  const RunInfo run = describeRun(
      traceOf("1s loader process=1 loader=1 kind=\"torch.DataLoader\" workers=2 batch_size=8 "
              "prefetch=2 file=\"a.py\" line=4\n"
              "2s loader process=1 loader=2 kind=\"torch.DataLoader\" workers=2 batch_size=8 "
              "prefetch=2 file=\"a.py\" line=4\n"
              "3s loader process=1 loader=3 workers=0 file=\"a.py\" line=4\n"));
  REQUIRE(run.loaders.size() == 2);
  CHECK(run.loaders[0].workers == 2);
  CHECK(run.loaders[0].prefetch == 2);
  CHECK(run.loaders[0].where.line == 4);
  CHECK(!run.loaders[1].batchSize);
  CHECK(!run.loaders[1].prefetch);
}

TEST_CASE("a loader that a library made of the user's own has the place where that one was made") {
  const std::string mine =
      "1s loader process=1 loader=1 dataset=\"Photos\" workers=2 file=\"train.py\" line=4\n";
  const std::string again =
      "2s loader process=1 loader=2 dataset=\"Photos\" workers=2 file=\"train.py\" line=9 "
      "library=\"accelerate\"\n";
  const RunInfo run = describeRun(traceOf(mine + again));
  REQUIRE(run.loaders.size() == 1);
  CHECK(run.loaders[0].where.line == 4);
  CHECK(run.loaders[0].package.empty());
  const RunInfo alone = describeRun(traceOf(again));
  REQUIRE(alone.loaders.size() == 1);
  CHECK(alone.loaders[0].where.line == 9);
  CHECK(alone.loaders[0].package == "accelerate");
}

TEST_CASE("coverage: a source as it was last, losses of a kind summed, what the recorder cost") {
  const CoverageInfo coverage =
      describeCoverage(traceOf("0 source source=\"tier\" state=full why=\"T4\"\n"
                               "0 source source=\"opens\" state=full\n"
                               "5s source source=\"opens\" state=absent why=\"denied\"\n"
                               "1s loss kind=disk_full count=2\n2s loss kind=disk_full count=3\n"
                               "3s loss kind=ring_full count=1\n"
                               "1s recorder cpu=10ms milli_hz=100000 pid=9\n"
                               "5s recorder cpu=50ms milli_hz=50000 pid=9\n"
                               "6s recorder cpu=100ms milli_hz=50000 pid=9\n"
                               "10s command_end exit_code=0\n"));
  CHECK(coverage.hostTier == "T4");
  REQUIRE(coverage.sources.size() == 1);
  CHECK(coverage.sources[0].state == Coverage::kAbsent);
  CHECK(coverage.sources[0].why == "denied");
  REQUIRE(coverage.losses.size() == 2);
  CHECK(coverage.losses[0] == std::pair<std::string, std::uint64_t>("ring_full", 1));
  CHECK(coverage.losses[1] == std::pair<std::string, std::uint64_t>("disk_full", 5));
  CHECK(coverage.recorderPid == 9);
  CHECK(coverage.recorderCpuRatio == 0.01);
  CHECK(coverage.effectiveHz == 50);
  CHECK(!coverage.pausedRatio);
}

TEST_CASE("coverage: pauses are a share of the run, and no loss") {
  const CoverageInfo coverage = describeCoverage(
      traceOf("1s pause duration=300ms\n5s pause duration=200ms\n10s command_end exit_code=0\n"));
  REQUIRE(coverage.pausedRatio);
  CHECK(std::abs(*coverage.pausedRatio - 0.5 / 9) < 1e-9);
  CHECK(coverage.losses.empty());
  CHECK(!coverage.slowdown);
}

TEST_CASE("steps: count, rate of the window, samples, and times without what stands apart") {
  TrainerFacts facts = stepsOf({50, 100, 100, 900, 100});
  facts.steps[3].boundary = true;
  facts.warmup = 1;
  facts.windowBegin = 50ms;
  facts.process = ProcessId{1};
  facts.loader = 0;
  facts.batches = {{1, 4}};
  facts.optimizerSteps = 5;
  const Trace trace = traceOf("0 loader process=1 loader=1 batch_size=8\n");
  const StepsInfo steps = describeSteps(trace, facts);
  CHECK(steps.count == 5);
  CHECK(steps.windowCount == 4);
  CHECK(steps.source == "hook");
  CHECK(steps.confidence == Confidence::kMedium);
  CHECK(std::abs(*steps.ratePerSecond - 4 / 1.2) < 1e-9);
  CHECK(std::abs(*steps.samplesPerSecond - 32 / 1.2) < 1e-9);
  REQUIRE(steps.time);
  CHECK(steps.time->mean == 100ms);
  CHECK(steps.time->p99 == 100ms);
}

TEST_CASE("samples are of the batches, however many a step takes and of whatever loader they are") {
  const auto samplesOf = [](const std::string& loaders) {
    // Marked steps of 150 ms, most with two batches of loader 1; then five of one of loader 2.
    const Trace trace =
        traceOf(kTrainer + loaders + kTwentyFetches +
                "repeat 15 every 200ms\n1030ms range thread=1 duration=150ms name=\"step\" "
                "domain=\"stallprof\"\nend\nrepeat 5 every 200ms\n"
                "3050ms fetch thread=1 loader=2 epoch=2 duration=20ms cpu=20ms batch=0+1*i\n"
                "3150ms optimizer thread=1 duration=5ms optimizer=1\nend\n");
    const TrainerFacts facts = factsOf(trace);
    REQUIRE(facts.source == StepSource::kMarks);
    const auto rate = describeSteps(trace, facts).samplesPerSecond;
    return rate ? *rate * seconds(facts.window()) : -1;
  };
  const std::string eight = "0 loader process=1 loader=1 workers=0 batch_size=8\n";
  // The window begins with the fifth mark: 11 batches of eight follow, and five of 64.
  CHECK(std::abs(samplesOf(eight + "0 loader process=1 loader=2 batch_size=64\n") - 408) < 1);
  CHECK(samplesOf(eight + "0 loader process=1 loader=2 batch_size=-1\n") == -1);
}

TEST_CASE(
    "a first epoch that waits longer than later ones is a caveat, where it is in the window") {
  // Epochs of so many steps; each step is `wait` ms for data and 50 more.
  const auto textOf = [](std::initializer_list<std::pair<int, int>> epochs) {
    std::string text = kTrainer;
    int at = 1000, epoch = 1;
    for (const auto& [steps, wait] : epochs) {
      const std::string fetch = "ms fetch thread=1 loader=1 epoch=" + std::to_string(epoch++);
      text += "repeat " + std::to_string(steps) + " every " + std::to_string(wait + 50) + "ms\n" +
              std::to_string(at) + fetch + " duration=" + std::to_string(wait) +
              "ms batch=0+1*i\n" + std::to_string(at + wait + 40) +
              "ms optimizer thread=1 duration=5ms optimizer=1\nend\n";
      at += steps * (wait + 50);
      text += std::to_string(at) + fetch + " end=1\n";
      at += 100;
    }
    return text;
  };
  const auto says = [&](std::initializer_list<std::pair<int, int>> epochs) {
    const Analysis a = analyze(traceOf(textOf(epochs)));
    return std::any_of(a.caveats.begin(), a.caveats.end(), [](const std::string& caveat) {
      return caveat.starts_with("The first epoch waited for data ");
    });
  };
  CHECK(says({{60, 200}, {60, 5}, {60, 5}}));
  // The last has its own length, and what lies between two.
  const Analysis a = analyze(traceOf(textOf({{60, 50}, {60, 100}})));
  REQUIRE(a.epochs.size() == 2);
  REQUIRE(a.epochs[1].period);
  CHECK(a.epochs[1].wall == 9s);
  CHECK(*a.epochs[1].period == 9s + 100ms);
  CHECK_FALSE(says({{60, 200}, {60, 200}, {60, 200}}));
  CHECK_FALSE(says({{60, 200}, {3, 5}}));            // cut off: it says nothing
  CHECK_FALSE(says({{20, 200}, {60, 5}, {60, 5}}));  // within the warm-up
}

TEST_CASE("batches of one update are timed together, each with its share") {
  TrainerFacts facts = stepsOf({100, 10, 10, 10, 50, 10, 10, 10, 90, 10, 70});
  facts.steps[0].boundary = true;
  facts.steps[10].boundary = true;
  for (const std::size_t i : {1u, 2u, 3u, 5u, 6u, 7u, 9u}) facts.steps[i].updates = false;
  const StepsInfo steps = describeSteps({}, facts);
  REQUIRE(steps.time);
  CHECK(steps.time->mean == 25ms);  // of 4 batches with 20 ms and 4 with 30
  CHECK(steps.time->p99 == 30ms);
  SECTION("an update that spans epochs leaves the batches alone") {
    for (Step& step : facts.steps) step.updates = false;
    CHECK(describeSteps({}, facts).time->p50 == 10ms);
  }
  SECTION("the rest of an update that begins before the window is none") {
    facts.steps[0].boundary = false;
    facts.steps[0].updates = false;
    facts.warmup = 3;
    CHECK(describeSteps({}, facts).time->mean == 30ms);  // and not the 10 and 50 ms of one half
  }
}

TEST_CASE("no steps: no source, no rate, no times, and the breakdown is of the run") {
  TrainerFacts none;
  none.windowEnd = 10s;
  const StepsInfo steps = describeSteps({}, none);
  CHECK(steps.count == 0);
  CHECK(!steps.source);
  CHECK(!steps.ratePerSecond);
  CHECK(!steps.time);
  CHECK(describeBreakdown(none).scope == "run");
  CHECK(!describeBreakdown(none).ratio);
}

TEST_CASE("a breakdown's three views sum to the window and to its data wait") {
  TrainerFacts facts = stepsOf({1000});
  facts.split = {400ms, 300ms, 100ms, 50ms, 20ms, 30ms, 100ms};
  facts.blame = {120ms, 100ms, 40ms, 30ms, 10ms};
  const Breakdown breakdown = describeBreakdown(facts);
  CHECK(breakdown.scope == "window");
  CHECK(breakdown.ratio->dataWait == 0.3);
  CHECK(breakdown.ratio->other == 0.1);
  const Breakdown::BlameRatio& b = *breakdown.blame;
  CHECK(std::abs(b.extract + b.transform + b.load + b.startup + b.unknown - 0.3) < 1e-12);
  const Breakdown::PhaseRatio& p = *breakdown.phase;
  CHECK(std::abs(p.load - 0.17) < 1e-12);  // own 0.1, blamed 0.04, start-up 0.03
  CHECK(p.unknown == 0.01);
  CHECK(std::abs(p.extract + p.transform + p.load + p.compute + p.sync + p.comm + p.periodic +
                 p.other + p.unknown - 1) < 1e-12);
}

TEST_CASE("steps that were asked for and that nothing could count are said to have ended nothing") {
  const auto says = [](const std::string& rows) {
    Trace trace = test::traceOf(test::kTrainer + rows);
    trace.manifest.overrides = {Untrusted("--steps"), Untrusted("20")};
    const Analysis a = analyze(trace);
    return std::any_of(a.caveats.begin(), a.caveats.end(), [](const std::string& caveat) {
      return caveat.find("they did not end the program") != std::string::npos;
    });
  };
  CHECK(says("1s slice thread=1 duration=1s run=1s samples=100 wait=running\n"));
  CHECK_FALSE(says("1s optimizer thread=1 duration=5ms optimizer=1\n"));
  CHECK_FALSE(says("1s range thread=1 duration=5ms name=\"step\" domain=\"stallprof\"\n"));
}

TEST_CASE("where a training stands that makes no step any more is said") {
  const Analysis a =
      analyze(test::traceOf(test::kTrainer +
                            "0 stack stack=1 file=\"train.py\" function=\"main\" line=30\n"
                            "0 stack stack=2 caller=1 file=\"/usr/lib/python3.11/threading.py\" "
                            "function=\"Condition.wait\" line=320\n"
                            "0 stack stack=3 file=\"train.py\" function=\"main\" line=20\n"
                            "repeat 100 every 50ms\n"
                            "0ms slice thread=1 duration=50ms run=50ms samples=5 wait=running\n"
                            "5ms stack_slice thread=1 duration=40ms stack=3 samples=5\n"
                            "45ms optimizer thread=1 duration=5ms optimizer=1\nend\n"
                            "5s slice thread=1 duration=9s samples=900 wait=futex\n"
                            "5010ms stack_slice thread=1 duration=8980ms stack=2 samples=899\n"
                            "14s command_end exit_code=0\n"));
  REQUIRE_FALSE(a.caveats.empty());
  CHECK(a.caveats.back() ==
        "No step ended in the last 9 s of the run, which are in no share: the training thread was "
        "mostly at train.py:30 main.");
}
