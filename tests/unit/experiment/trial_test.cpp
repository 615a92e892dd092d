// SPDX-License-Identifier: MIT
#include "experiment/trial.h"

#include <algorithm>

#include "advise/cost.h"
#include "analysis/verdict/rank.h"
#include "experiment/trials_file.h"
#include "present/words/tuning_text.h"
#include "present/words/wording.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

Advice adviceOf(std::string id, Advice::Change change, Maybe<double> speedup,
                Basis basis = Basis::kReplayed) {
  Advice advice;
  advice.id = std::move(id);
  advice.change = std::move(change);
  advice.predicted.speedup = speedup;
  advice.predicted.basis = basis;
  return advice;
}

// A loader without workers, and findings of which three changes can be made from outside.
Analysis analysisOf() {
  Analysis a;
  LoaderInfo loader;
  loader.kind = "torch.DataLoader";
  loader.where = {Untrusted("/home/u/train.py"), {}, 30};
  a.run.loaders = {loader};
  Finding first, second;
  first.id = "transform.in_process";
  first.phase = Phase::kTransform;
  first.where = loader.where;
  first.confidence = Confidence::kMedium;
  first.advice = {adviceOf("workers", {"loader_arg", "num_workers", "0", "2"}, 1.6),
                  adviceOf("batch", {"loader_arg", "batch_size", "8", "64"}, 1.2),
                  adviceOf("code", {"code", "decode", "", ""}, 1.1)};
  second.id = "compute.oversubscribed";
  second.phase = Phase::kCompute;
  second.confidence = Confidence::kMedium;
  second.advice = {adviceOf("threads", {"env", "OMP_NUM_THREADS", "8", "2"}, 1.9, Basis::kAssumed),
                   adviceOf("malloc", {"env", "MALLOC_ARENA_MAX", "", "2"}, 1.2)};
  a.findings = {first, second};
  a.verdict.boundBy = "transform";
  a.verdict.withheld.reset();
  a.verdict.healthy = false;
  return a;
}

Trial measured(std::vector<double> base, std::vector<double> fix, double alpha = 0.025) {
  Trial trial;
  trial.base = std::move(base);
  trial.fix = std::move(fix);
  judgeTrial(trial, alpha);
  return trial;
}

// Trials of which the first has run.
Trials firstMeasured(std::vector<Trial> trials, std::vector<double> base, std::vector<double> fix) {
  Trials made;
  made.trials = std::move(trials);
  Trial& first = made.trials.at(0);
  first.base = std::move(base);
  first.fix = std::move(fix);
  judgeTrial(first, 0.025);
  return made;
}

}  // namespace

TEST_CASE("ceilings are of the loader that the steps are of, not of an evaluation's") {
  Analysis a = analysisOf();
  LoaderInfo valid = a.run.loaders[0];
  valid.where.line = 31;
  a.run.loaders.push_back(valid);
  Finding evaluation;
  evaluation.phase = Phase::kPeriodic;
  evaluation.where = valid.where;
  a.findings.insert(a.findings.begin(), evaluation);
  REQUIRE(loaderOptions(a));
  CHECK(*loaderOptions(a) == std::vector<std::string>{"--loader", "/home/u/train.py:30"});
  a.findings.resize(1);
  CHECK_FALSE(loaderOptions(a));
}

TEST_CASE("trials are the fixes that can be made from outside, replayed ones first") {
  const auto trials = trialsOf(analysisOf(), 9);
  REQUIRE(trials.size() == 3);
  CHECK(trials[0].options ==
        std::vector<std::string>{"--set", "num_workers=2", "--set", "persistent_workers=true"});
  CHECK(trials[1].options == std::vector<std::string>{"--env", "MALLOC_ARENA_MAX=2"});
  CHECK(trials[2].options == std::vector<std::string>{"--threads", "2"});
  CHECK(trialsOf(analysisOf(), 1).size() == 1);
  REQUIRE(trialsOf(analysisOf(), 9, "threads").size() == 1);
  CHECK(trialsOf(analysisOf(), 9, "threads")[0].advice == "threads");
}

TEST_CASE("of several loaders the one of the finding is named, and of no other kind any") {
  Analysis a = analysisOf();
  a.run.loaders.push_back(a.run.loaders[0]);
  a.run.loaders[1].where.line = 40;
  const auto options = trialsOf(a, 1)[0].options;
  CHECK(options.back() == "/home/u/train.py:30");
  for (LoaderInfo& loader : a.run.loaders) loader.kind = "tf.data";
  CHECK(trialsOf(a, 9).size() == 2);
}

TEST_CASE("a pipeline of tf.data is given the calls at once and the buffer that it lacks") {
  Analysis a = analysisOf();
  a.findings[0].advice = {
      adviceOf("producers", {"code", "producers", "these threads", "more"}, {})};
  const auto optionsWith = [&](const char* pipeline) {
    a.run.loaders[0].kind = "tf.data";
    a.run.loaders[0].pipeline = pipeline;
    const auto trials = trialsOf(a, 1, "producers");
    return trials.empty() ? std::vector<std::string>{} : trials[0].options;
  };
  CHECK(optionsWith("Range.Map.Batch(8)") ==
        std::vector<std::string>{"--set", "num_parallel_calls=auto", "--set", "prefetch=auto"});
  CHECK(optionsWith("TensorSlice.FlatMap.Batch(8)") ==
        std::vector<std::string>{"--set", "prefetch=auto"});
  CHECK(optionsWith("Range.ParallelMap(2).Batch(8).Prefetch(2)").empty());
}

TEST_CASE("a fix gains where every run with it is faster, by more than the floor") {
  const Trial gain = measured({1.00, 1.02, 0.98, 1.01}, {0.50, 0.51, 0.52, 0.49});
  CHECK(gain.verdict == TrialVerdict::kGain);
  CHECK(*gain.speedup == Approx(1.98).epsilon(0.02));
  CHECK((*gain.low < *gain.speedup && *gain.speedup < *gain.high));
  CHECK(measured({1, 1.01, 1.02, 1.03}, {1.0, 1.01, 1.015, 1.02}).verdict ==
        TrialVerdict::kUndecided);
  CHECK(measured({1, 1.002, 1.001, 1.003}, {1.0, 1.001, 1.002, 1.003}).verdict ==
        TrialVerdict::kNoGain);
  CHECK(measured({1, 1.01, 1.02, 1.03}, {1.2, 1.21, 1.22, 1.23}).verdict == TrialVerdict::kSlower);
}

TEST_CASE("too few runs decide nothing") {
  const Trial few = measured({1, 1, 1}, {0.5, 0.5, 0.5});
  CHECK(few.verdict == TrialVerdict::kUndecided);
  CHECK(*few.speedup == Approx(2));
  CHECK_FALSE(few.low);
}

TEST_CASE("what was measured until the runs ended is no verdict") {
  Trial trial;
  trial.base = {0.2, 0.2};
  trial.fix = {0.05};
  leaveUndecided(trial, "base-3 ended with 1: ConnectionError");
  CHECK(trial.verdict == TrialVerdict::kUndecided);
  CHECK(outcomeText(trial) ==
        "not decided: 4.00x, 2 and 1 runs; base-3 ended with 1: ConnectionError");
  Trial none;
  leaveUndecided(none, "base-1 was interrupted");
  CHECK(outcomeText(none) == "not measured: base-1 was interrupted");
}

TEST_CASE("a fix that could not be measured says why, and is not called failed") {
  Trial trial;
  trial.why = "fix1-1 made no step in the last 8.7 s of its 20, in which it did other work";
  CHECK(outcomeText(trial) == "not measured: " + trial.why);
  Trial some = measured({1, 1}, {0.5, 0.5});
  some.why = trial.why;
  CHECK(outcomeText(some) == "not decided: 2.00x, 2 and 2 runs; " + trial.why);
}

TEST_CASE("what was measured stands beside what was predicted, and ranks") {
  Analysis a = analysisOf();
  Trials trials;
  trials.trials = trialsOf(a, 3);
  trials.trials[0].base = {1.000, 1.001, 1.002, 1.003};
  trials.trials[0].fix = {1.000, 1.001, 1.002, 1.003};
  trials.trials[2].base = trials.trials[0].base;
  trials.trials[2].fix = {0.50, 0.51, 0.52, 0.53};
  for (Trial& trial : trials.trials) judgeTrial(trial, 0.025);
  applyTrials(trials, a);
  REQUIRE(a.findings[0].id == "compute.oversubscribed");
  CHECK(a.findings[0].rank == 1);
  CHECK(a.findings[0].confidence == Confidence::kVerified);
  CHECK(*a.findings[0].advice[0].measured == Approx(1.94).epsilon(0.02));
  CHECK(a.findings[0].advice[0].outcome == "gain");
  CHECK(a.verdict.boundBy == "compute");
  const Finding& other = a.findings[1];
  REQUIRE(other.advice.back().id == "workers");  // after what has not been tried
  CHECK(*other.advice.back().measured == Approx(1));
  CHECK(*other.advice.back().predicted.speedup == Approx(1.6));
  CHECK_FALSE(other.advice[0].measured);
}

TEST_CASE("a fix that did not run when it was tried ranks behind what was not tried") {
  Analysis a = analysisOf();
  EpochInfo epoch;
  epoch.period = std::chrono::hours(1);
  a.epochs = {epoch};
  CHECK(costOf(a, {}, 10.0).timeFixed);
  Trials trials;
  trials.trials = trialsOf(a, 1);
  trials.trials[0].verdict = TrialVerdict::kFailed;
  trials.trials[0].why = "fix1-1 died of SIGBUS";
  applyTrials(trials, a);
  const auto workers = std::find_if(a.findings.begin(), a.findings.end(), [](const Finding& f) {
    return f.id == "transform.in_process";
  });
  REQUIRE(workers != a.findings.end());
  const Advice& failed = workers->advice.back();
  REQUIRE(failed.id == "workers");
  CHECK(failed.outcome == "failed");
  CHECK_FALSE(failed.measured);
  CHECK(workers->confidence == Confidence::kMedium);
  Finding alone = *workers;
  alone.advice = {failed};
  CHECK(fixText(alone) == "Its fix was tried and failed (predicted 1.60x).");
  alone.shareRatio = 0.6;  // whatever its share, what did not run saves nothing
  CHECK(gainOf(alone) == 0);
  a.findings = {alone};
  CHECK_FALSE(costOf(a, {}, 10.0).timeFixed);
}

TEST_CASE("runs with many evaluations, as the recorded one, count with their own") {
  CHECK(representsPeriodicWork({0.1, 0.02}, 0.021, 10));
  CHECK_FALSE(representsPeriodicWork({0.1, 0.02}, 0.021, 9));  // one more or less counts
  CHECK_FALSE(representsPeriodicWork({0.1, 0.02}, 0.03, 40));  // the recorded run had another share
  CHECK_FALSE(representsPeriodicWork({0.1, 0}, 0, 40));
}

TEST_CASE("a run's pace is of its plain steps, whatever fell into it") {
  Analysis a = analysisOf();
  CHECK_FALSE(stepSeconds(a));
  a.steps.ratePerSecond = 10;
  CHECK(stepSeconds(a)->plain == Approx(0.1));
  CHECK(stepSeconds(a)->periodic == 0);
  a.breakdown.ratio = Breakdown::Ratio{};
  a.breakdown.ratio->periodic = 0.5;
  CHECK(stepSeconds(a)->plain == Approx(0.05));
  CHECK(stepSeconds(a)->periodic == Approx(0.05));
}

TEST_CASE("a trial on another host than the recorded run's says so") {
  RunInfo recorded;
  recorded.host = {"Example CPU", 32, 32, 0, {"A100"}};
  recorded.framework = "torch 2.1.0";
  RunInfo here = recorded;
  CHECK(otherHost(recorded, here).empty());
  here.host.coresUsable = 30;
  CHECK(otherHost(recorded, here).empty());
  recorded.host.gpus = {"A100", "T4"};
  here.host.gpus = {"T4", "A100", "A100"};
  CHECK(otherHost(recorded, here).empty());
  recorded.host.gpus = here.host.gpus = {"A100"};
  here.host.coresUsable = 4;
  CHECK(otherHost(recorded, here) == "there were 32 usable cores, and are 4");
  here.host.gpus.clear();
  CHECK(otherHost(recorded, here) == "the GPU was 'A100', and is 'none'");
  recorded.host.gpus.clear();  // where the driver was not asked
  here.host.coresUsable = 32;
  CHECK(otherHost(recorded, here).empty());
  here.framework = "torch 2.4.0";
  CHECK(otherHost(recorded, here) == "the framework was 'torch 2.1.0', and is 'torch 2.4.0'");
}

TEST_CASE(
    "trials that decide nothing leave the order as it was predicted, as far as they allow it") {
  const auto firstAfter = [](std::vector<double> base, std::vector<double> fix) {
    Analysis a = analysisOf();
    a.findings[1].advice.erase(a.findings[1].advice.begin());  // leaves one of 1.2x
    const Trials trials = firstMeasured(trialsOf(a, 1), std::move(base), std::move(fix));
    REQUIRE(trials.trials[0].advice == "workers");
    REQUIRE(trials.trials[0].verdict == TrialVerdict::kUndecided);
    applyTrials(trials, a);
    return a.findings[0];
  };
  const Finding noisy =
      firstAfter({1.00, 1.30, 0.90, 1.10, 1.20, 0.95}, {0.60, 1.40, 1.00, 0.80, 1.25, 0.90});
  CHECK(noisy.id == "transform.in_process");
  CHECK(noisy.advice[0].outcome == "undecided");
  CHECK(noisy.confidence == Confidence::kMedium);
  const Finding little =
      firstAfter({1.00, 1.03, 0.98, 1.02, 0.97, 1.01}, {0.97, 1.02, 0.95, 1.00, 0.96, 0.99});
  CHECK(little.id == "compute.oversubscribed");
}

TEST_CASE("what was measured of one number of workers says nothing of another") {
  Analysis a = analysisOf();
  const Trials trials =
      firstMeasured(trialsOf(a, 1), {1.00, 1.01, 1.02, 1.03}, {0.50, 0.51, 0.52, 0.53});
  for (Finding& f : a.findings)
    for (Advice& advice : f.advice)
      if (advice.id == trials.trials[0].advice) advice.change.to = "4";
  applyTrials(trials, a);
  for (const Finding& f : a.findings)
    for (const Advice& advice : f.advice) CHECK_FALSE(advice.measured);
}

TEST_CASE("trials are read as they were written, and damage is none of them") {
  Trials trials = firstMeasured(trialsOf(analysisOf(), 3), {1, 1, 1, 1}, {0.5, 0.5, 0.5, 0.5});
  trials.notes = {"a note"};
  trials.windowSeconds = 20;
  trials.trials[1].verdict = TrialVerdict::kFailed;
  trials.trials[1].why = "ended with 1";
  const auto read = parseTrials(trialsJson(trials));
  REQUIRE(read.ok());
  CHECK(trialsJson(read.value()) == trialsJson(trials));
  CHECK(outcomeText(read.value().trials[1]) == "failed: ended with 1");
  CHECK_FALSE(parseTrials("{}").ok());
  CHECK_FALSE(parseTrials("[1").ok());
  CHECK(parseTrials(R"({"schema": "stallprof.trials/1", "trials": [3, {"base_step_s": "x"}]})")
            .value()
            .trials.size() == 1);
  // No time and no factor is zero, below it, or as large as no run lasts.
  const auto damaged = parseTrials(R"({"schema": "stallprof.trials/1", "trials": [{"speedup": -3,
    "low": 0, "high": 1e308, "base_step_s": [0, 0.5, -1], "fix_step_s": [1e300]}]})");
  REQUIRE(damaged.ok());
  const Trial& trial = damaged.value().trials.at(0);
  CHECK_FALSE((trial.speedup || trial.low || trial.high));
  CHECK(trial.base == std::vector<double>{0.5});
  CHECK(trial.fix.empty());
}

namespace {

// From 0 workers to 2, which gain, and 4 that did not run.
Trials tunedTrials(std::vector<double> fix) {
  Trials trials;
  TunedTrial& tuned = trials.tuned.emplace();
  tuned.found.where = {Untrusted("/home/u/train.py"), {}, 30};
  tuned.found.settings.resize(3);
  tuned.found.settings[0].stepsPerSecond = 10;
  tuned.found.settings[1] = {4, 2, {}, {}, 21, {}, "tune-2 gave no steps"};
  tuned.found.settings[2] = {2, 2, 1, 20, 19, 2'000'000'000, ""};
  tuned.found.compared = 2;
  tuned.found.change = "DataLoader(..., num_workers=0 -> 2, persistent_workers=True)";
  tuned.trial.options = {"--set", "num_workers=2", "--set", "persistent_workers=true"};
  tuned.trial.base = {0.1000, 0.1001, 0.1002, 0.1003};
  tuned.trial.fix = std::move(fix);
  tuned.trial.moreBytes = 5e8;
  judgeTrial(tuned.trial, 0.025);
  settle(tuned);
  return trials;
}

}  // namespace

TEST_CASE("a search that was interrupted says that it is not finished") {
  Trials trials = tunedTrials({});
  trials.tuned->found.compared = 0;
  trials.tuned->found.outcome = "undecided";
  const auto lines = tuningLines(trials.tuned->found);
  CHECK(lines[0].starts_with("Not finished: of 3 settings"));
}

TEST_CASE("what tune found is read as it was written, and shown beside the same change") {
  const Trials trials = tunedTrials({0.050, 0.051, 0.052, 0.053});
  const auto read = parseTrials(trialsJson(trials));
  REQUIRE(read.ok());
  CHECK(trialsJson(read.value()) == trialsJson(trials));
  Analysis a = analysisOf();
  applyTrials(read.value(), a);
  REQUIRE(a.tuned);
  CHECK(a.tuned->best() == 2);
  CHECK(*a.tuned->measured == Approx(1.97).epsilon(0.02));
  CHECK(a.findings[0].advice[0].outcome == "gain");
  CHECK(a.findings[0].advice[0].measured == a.tuned->measured);
  const auto lines = tuningLines(*a.tuned);
  CHECK(lines[0] ==
        "/home/u/train.py:30  DataLoader(..., num_workers=0 -> 2, persistent_workers=True)");
  CHECK(lines[1].ends_with("as fast, +500 MB of peak memory, of all processes."));
  CHECK(lines[3] == "workers  prefetch  threads  steps/s  predicted");
  CHECK(lines[4] ==
        "      0         -    as is       10          -  ############              unchanged");
  CHECK(lines[5] ==
        "      2         2        1       20         19  ########################  best");
  CHECK(lines[6].ends_with("failed"));
}

TEST_CASE("where nothing is faster tune says so, and why") {
  Trials trials = tunedTrials({0.1000, 0.1001, 0.1002, 0.1003});
  trials.tuned->found.why = "the step alone is the limit";
  const Tuned found = parseTrials(trialsJson(trials)).value().tuned->found;
  CHECK(found.best() == 0);
  const auto lines = tuningSummary(found);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "No number of workers helps: no tried setting is faster than num_workers=0, the unchanged "
        "setting; the step alone is the limit.");
  CHECK(
      lines[1].starts_with("The best of the others, num_workers=2, prefetch_factor=2, 1 thread: "
                           "no gain: 1.00x"));
}

TEST_CASE(
    "where the setting that was found fails tune says that, and why, and nothing of workers") {
  Trials trials = tunedTrials({0.05});
  Trial& trial = trials.tuned->trial;
  trial.verdict = TrialVerdict::kFailed;
  trials.tuned->found.why = trial.why = "tune-best was ended by signal 9";
  settle(*trials.tuned);
  const Tuned& found = trials.tuned->found;
  const auto lines = tuningSummary(found);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "Not measured: num_workers=2, prefetch_factor=2, 1 thread, the fastest of the search, "
        "failed when it was run in alternation with the unchanged program: tune-best was ended by "
        "signal 9.");
  CHECK(tuningNote(found, 0) == "unchanged");
}

TEST_CASE("where the best setting could not be measured tune says why") {
  Trials trials = tunedTrials({0.05, 0.05, 0.05, 0.05});
  trials.tuned->trial.verdict = TrialVerdict::kUndecided;
  trials.tuned->found.why = "fix1-1 made no step";
  settle(*trials.tuned);
  CHECK(tuningSummary(trials.tuned->found).at(0) == "Not decided: fix1-1 made no step.");
}

TEST_CASE("ceilings are of the newest trial that has runs of the program as it is") {
  Trials trials;
  trials.trials = {measured({}, {}), measured({0.2, 0.2}, {0.1, 0.1}), measured({}, {})};
  trials.trials[0].verdict = TrialVerdict::kFailed;
  trials.replayStep = 0.1;
  Analysis a = analysisOf();
  applyTrials(trials, a);
  REQUIRE(a.verdict.stallRatio);
  CHECK(*a.verdict.stallRatio == Approx(0.5));
}

TEST_CASE(
    "what was measured once after the trials is beside the runs of the search that measured it") {
  Trials trials;
  trials.trials = {measured({0.2, 0.2}, {0.1, 0.1})};
  trials.tuned.emplace();
  trials.tuned->trial = measured({0.4, 0.4}, {0.1, 0.1});
  CHECK(trials.baseRuns()->at(0) == 0.2);
  trials.tunedLast = true;
  CHECK(trials.baseRuns()->at(0) == 0.4);
  trials.tuned->found.settings.emplace_back();
  const Result<Trials> read = parseTrials(trialsJson(trials));
  REQUIRE(read.ok());
  CHECK(read.value().tunedLast);
}

TEST_CASE("trials at another pace than the recording's say so, and bound nothing of it") {
  Trials trials;
  trials.trials = {measured({0.01, 0.01}, {0.01, 0.01})};
  trials.replayStep = 0.009;
  trials.drainStep = 0.008;
  Analysis a = analysisOf();
  a.steps.ratePerSecond = 19.8;
  a.verdict.stallRatio = 0.82;
  applyTrials(trials, a);
  CHECK(a.verdict.stallRatio == Maybe<double>(0.82));
  CHECK(a.ceilings.empty());
  CHECK_THAT(otherPace(trials, a),
             Catch::Contains("made 100 steps/s in the trials and 19.8 steps/s in the recording"));
  a.steps.ratePerSecond = 90;
  CHECK(otherPace(trials, a).empty());
  applyTrials(trials, a);
  CHECK(*a.verdict.stallRatio == Approx(0.1));
  CHECK(a.ceilings.size() == 2);
  CHECK(otherPace(Trials{}, a).empty());
}

TEST_CASE("a measured ceiling is never below the pace that it bounds") {
  Trials trials;
  trials.trials = {measured({0.1, 0.1}, {0.1, 0.1})};
  trials.replayStep = 0.102;
  trials.drainStep = 0.15;
  Analysis a = analysisOf();
  const std::size_t before = a.notMeasured.size();
  applyTrials(trials, a);
  const auto stage = [&](const std::string& name) {
    return std::find_if(a.ceilings.begin(), a.ceilings.end(),
                        [&](const Ceiling& c) { return c.stage == name; });
  };
  REQUIRE(stage("compute") != a.ceilings.end());
  CHECK(stage("compute")->gapRatio == 0);
  CHECK(stage("compute")->stepsPerSecond == Approx(10));
  CHECK(stage("transform") == a.ceilings.end());
  REQUIRE(a.notMeasured.size() == before + 1);
  CHECK(a.notMeasured.back() ==
        "the transform ceiling (by a run of its own it would be 33 % below the pace)");
}

TEST_CASE("of a damaged outcome of tune nothing is taken") {
  std::string json = trialsJson(tunedTrials({0.05, 0.05, 0.05, 0.05}));
  json.replace(json.find("\"compared\": 2"), 13, "\"compared\": 9");
  REQUIRE(parseTrials(json).ok());
  CHECK_FALSE(parseTrials(json).value().tuned);
  CHECK_FALSE(parseTrials(R"({"schema": "stallprof.trials/1", "tune": {"settings": [1, {}],
      "compared": 1e300}})")
                  .value()
                  .tuned->found.compared);
}

TEST_CASE("a program whose steps the hook does not see is not run for hours again and again") {
  Analysis a = analysisOf();
  a.run.wall = std::chrono::hours(5);
  a.steps.source = "inferred";
  CHECK(whyTooLong(a).find("each would take as long as the recorded one, 5 h") !=
        std::string::npos);
  a.run.wall = kLongestWhole;
  CHECK(whyTooLong(a).empty());
  a.run.wall = std::chrono::hours(5);
  a.steps.source = "hook";
  CHECK(whyTooLong(a).empty());
  a.steps.source = "marks";  // of its own, and an optimizer that the hook knows
  a.steps.optimizerSteps = 100;
  CHECK(whyTooLong(a).empty());
}
