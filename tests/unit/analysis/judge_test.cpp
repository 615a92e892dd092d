// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "classify/own_rules.h"
#include "tests/catch.h"
#include "tests/unit/analysis/facts_builder.h"

using namespace stallprof;
using namespace stallprof::test;

namespace {

Training inProcess() { return {.workers = 0, .compute = 10, .waitTransform = 30, .batchCpu = 30}; }

}  // namespace

TEST_CASE("a step that the environment has on one thread may have the cores that are idle") {
  Facts f = factsOf(Training{.compute = 50, .batchCpu = 5});
  f.run.jobCpuRatio = 0.15;  // of eight cores
  const auto advised = [&] {
    const Judgement j = f.judge();
    REQUIRE(j.findings[0].id == "compute.cpu_bound");
    const Advice* more = adviceIn(j.findings[0], "more_threads");
    return more ? more->change.to : std::string();
  };
  CHECK(advised().empty());
  f.trace.manifest.environment.emplace_back("OMP_NUM_THREADS", Untrusted("1"));
  CHECK(advised() == "8");
  f.run.siblings = 3;  // each of four ranks gets the same
  CHECK(advised() == "2");
  f.run.siblings = 0;
  f.trace.manifest.environment.clear();
  f.run.threadsSet = ThreadsSet{1, {}};  // what the program calls overrules it
  CHECK(advised() == "8");
  CHECK(f.judge().findings.at(0).advice.at(0).change.name == SettingChanged::kThreads);
  f.run.threadsSet = ThreadsSet{4, {}};
  CHECK(advised().empty());
  f.trace.manifest.environment.emplace_back("OMP_NUM_THREADS", Untrusted("1"));
  CHECK(advised().empty());
  f.run.threadsSet.reset();
  f.run.externalCpuRatio = 0.8;  // of others, for whom nobody waits
  f.run.queuedRatio = 0.01;
  CHECK(advised().empty());
  f.run.externalCpuRatio = 0;
  CHECK(advised() == "8");
  f.run.jobCpuRatio = 0.95;
  CHECK(advised().empty());
}

TEST_CASE("a training that never waits is healthy, with high confidence") {
  const Judgement j = factsOf(Training{}).judge();
  REQUIRE(j.findings.size() == 1);
  CHECK(j.findings[0].id == "compute.cpu_bound");
  CHECK(j.verdict.healthy == Maybe<bool>(true));
  CHECK(j.verdict.boundBy == "compute");
  CHECK(j.verdict.confidence == Confidence::kHigh);
  CHECK(std::abs(*j.verdict.auRatio - 1) < 1e-6);
  CHECK_FALSE(j.verdict.stallRatio.has_value());
}

TEST_CASE("a recorder that did not run for a part of the window is no surer than the rest allows") {
  const auto of = [](double share) {
    Facts f = factsOf(Training{});
    const TrainerFacts& t = f.trainer;
    f.trace.gaps.push_back({t.windowBegin - ms(500), {ms(500) + scaled(t.window(), share), {}}});
    f.trace.gaps.push_back({t.windowEnd, {ms(5000), {}}});  // after it
    return f.judge();
  };
  CHECK(of(0.02).verdict.confidence == Confidence::kHigh);
  CHECK(of(0.02).caveats.empty());
  const Judgement some = of(0.2);
  CHECK(some.verdict.confidence == Confidence::kMedium);
  REQUIRE(some.caveats.size() == 1);
  CHECK(some.caveats[0].find("20 %") != std::string::npos);
  CHECK(of(0.5).verdict.confidence == Confidence::kLow);
}

TEST_CASE("a step that hardly works is not surely computing: it sleeps, or waits for who knows") {
  Training t;
  t.trainerCpu = 1;  // of 10 ms a step
  const Judgement j = factsOf(t).judge();
  REQUIRE(j.findings[0].id == "compute.cpu_bound");
  CHECK(says(j.findings[0], "or another process 90 %"));
  CHECK(j.findings[0].confidence == Confidence::kLow);
}

TEST_CASE("a few samples of a loop are not enough to know that its own code computes") {
  Facts f = factsOf(Training{.workers = 0, .compute = 10});
  f.trainer.loader = -1;
  f.trace.loaders.clear();
  StackFacts& s = f.trainer.stacks;
  const auto judged = [&](int all, int own) {
    s = {};
    for (int i = 0; i < all; ++i) s.trainer.add(&s + i);
    s.functions.emplace_back();
    s.functions.back().rule = kOwnTrainer;
    s.functions.back().phase = Phase::kCompute;
    s.functions.back().samples = own;
    return f.judge();
  };
  const Judgement few = judged(40, 20);
  REQUIRE(few.verdict.withheld);
  CHECK(few.verdict.withheld->why == NoVerdict::Why::kFewSamples);
  CHECK(few.verdict.withheld->value == 40);
  REQUIRE_FALSE(few.findings.empty());
  CHECK(few.findings[0].confidence == Confidence::kLow);
  CHECK(judged(40, 5).verdict.boundBy == "compute");  // the rest is known by rules
  s.functions.back().phase = Phase::kTransform;
  s.functions.back().rule = "python.json";
  s.functions.back().samples = 10;  // too few to be a share of the steps, too many to be none
  CHECK(f.judge().verdict.withheld);
  CHECK(judged(125, 100).verdict.boundBy == "compute");
  const Judgement none = judged(0, 0);  // no stacks at all: it may make its data, too
  REQUIRE(none.verdict.withheld);
  CHECK(none.verdict.withheld->why == NoVerdict::Why::kFewSamples);
  CHECK(none.verdict.withheld->value == 0);
}

TEST_CASE("under 20 steps nothing is concluded") {
  Training t = inProcess();
  t.warmup = 5;
  t.steps = 19;
  Judgement j = factsOf(t).judge();
  CHECK(j.verdict.boundBy == "unknown");
  CHECK_FALSE(j.verdict.healthy.has_value());
  REQUIRE(j.verdict.withheld);
  CHECK(j.verdict.withheld->why == NoVerdict::Why::kFewSteps);
  CHECK(j.verdict.withheld->value == 19);
  CHECK(j.verdict.withheld->limit == 20);
  REQUIRE_FALSE(j.findings.empty());
  CHECK(j.findings[0].confidence == Confidence::kLow);
  t.steps = 20;
  CHECK(factsOf(t).judge().verdict.boundBy == "transform");
}

TEST_CASE("above 15 % unexplained nothing is concluded") {
  Training t = inProcess();
  t.other = 7.5;  // of 47.5
  const Verdict v = factsOf(t).judge().verdict;
  CHECK(v.boundBy == "unknown");
  REQUIRE(v.withheld);
  CHECK(v.withheld->why == NoVerdict::Why::kUnexplained);
  CHECK(std::abs(v.withheld->value - 7.5 / 47.5) < 1e-3);
  t.other = 6.5;
  CHECK(factsOf(t).judge().verdict.boundBy == "transform");
  CHECK_FALSE(factsOf(t).judge().verdict.withheld);
}

TEST_CASE(
    "a wait for batches whose making a replay shortens is explained, whatever they wait for") {
  Training t = inProcess();  // a data set that sleeps, or waits for threads of its own
  std::swap(t.waitTransform, t.waitUnknown);
  const Judgement j = factsOf(t).judge();
  CHECK_FALSE(j.verdict.withheld);
  CHECK(j.findings[0].id == "transform.in_process");
  CHECK(j.verdict.boundBy == "transform");
  CHECK(j.verdict.confidence == Confidence::kMedium);
  t.other = 10;
  CHECK(factsOf(t).judge().verdict.boundBy == "unknown");
}

TEST_CASE("an assumed gain says what it assumes and has no low end; a replayed one has both ends") {
  const Training saving{.compute = 10, .periodic = 4, .saveEvery = 20, .saveMs = 80};
  int replayed = 0, guessed = 0;
  for (const Facts& f : {reading(100e3), reading(4e6), factsOf(saving), factsOf(inProcess())})
    for (const Finding& finding : f.judge().findings)
      for (const Advice& a : finding.advice) {
        const Prediction& p = a.predicted;
        if (!p.speedup) continue;
        INFO(finding.id << " " << a.id);
        const bool guess = p.basis == Basis::kAssumed;
        (guess ? guessed : replayed)++;
        CHECK(p.assumes.empty() != guess);
        CHECK(p.low.has_value() != guess);
        REQUIRE(p.high);
        CHECK(*p.high >= *p.speedup);
      }
  CHECK(replayed >= 4);
  CHECK(guessed >= 4);
}

TEST_CASE("a model that does not fit predicts nothing and says so") {
  Facts f = factsOf(inProcess());
  for (BatchWork& w : f.trainer.works) w.cpu = w.threadCpu = ms(5);  // 25 ms a step unaccounted for
  const Judgement j = f.judge();
  const Finding* found = find(j, "transform.in_process");
  REQUIRE(found);
  CHECK(found->confidence == Confidence::kLow);
  for (const Advice& a : found->advice) {
    CHECK_FALSE(a.predicted.speedup.has_value());
    CHECK_FALSE(a.predicted.low.has_value());
  }
  CHECK(std::any_of(j.notMeasured.begin(), j.notMeasured.end(), [](const std::string& line) {
    return line.find("gain") != std::string::npos;
  }));
}

TEST_CASE("a small finding beside a model that does not fit bounds nothing") {
  Training t{
      .compute = 40,
      .trainerCpu = 10,
      .waitLoad = 4,  // 9 % of the step
      .batchCpu = 10,
  };
  Facts f = factsOf(t);
  CHECK(f.judge().verdict.boundBy != "unknown");
  // The same steps, said to have starved for half their time: the model misses it.
  for (Step& step : f.trainer.steps) step.starved = step.split.compute / 2;
  const Judgement j = f.judge();
  REQUIRE_FALSE(j.findings.empty());
  CHECK(j.verdict.boundBy == "unknown");
  CHECK_FALSE(j.verdict.healthy.has_value());
}

TEST_CASE("other tenants lower confidence and widen; they silence only a narrow margin") {
  Facts quiet = factsOf(inProcess());
  Facts noisy = factsOf(inProcess());
  noisy.run.externalCpuRatio = 0.10;
  const Judgement a = quiet.judge(), b = noisy.judge();
  CHECK(b.caveats.size() == 1);
  CHECK(b.findings[0].confidence < a.findings[0].confidence);
  CHECK(b.verdict.boundBy == "transform");
  const Prediction& pa = a.findings[0].advice[0].predicted;
  const Prediction& pb = b.findings[0].advice[0].predicted;
  CHECK(*pb.high / *pb.low > *pa.high / *pa.low);
  Training close = inProcess();  // a fix worth 14 %, less than what the others took
  close.compute = 20;
  close.batchCpu = close.waitTransform = 3;
  close.batchBytes = 0;
  Facts narrow = factsOf(close);
  narrow.run.externalCpuRatio = 0.30;
  const Verdict silenced = narrow.judge().verdict;
  CHECK(silenced.boundBy == "unknown");
  REQUIRE(silenced.withheld);
  CHECK(silenced.withheld->why == NoVerdict::Why::kOthersCpu);
}

TEST_CASE("few steps in the window cost a level of confidence") {
  Training t = inProcess();
  t.steps = 119;
  const Confidence few = factsOf(t).judge().findings[0].confidence;
  t.steps = 120;
  CHECK(few < factsOf(t).judge().findings[0].confidence);
}

TEST_CASE("without a loader a run is judged from its steps, and health is not claimed") {
  Facts f = factsOf(Training{});
  f.trainer.loader = -1;
  f.trainer.works.clear();
  f.trainer.source = StepSource::kOptimizer;
  for (int i = 0; i < 200; ++i) f.trainer.stacks.trainer.add(&f.trainer + i);
  const Judgement j = f.judge();
  CHECK(j.verdict.boundBy == "compute");
  CHECK(j.verdict.confidence == Confidence::kMedium);  // data may be made inside the step
  CHECK_FALSE(j.verdict.healthy.has_value());
}

TEST_CASE("without a loader a step that blocks is not called compute-bound: it may wait for data") {
  Training t;
  t.trainerCpu = 6;  // of 10 ms; the rest it is in queue.get(), or waits for a device
  Facts f = factsOf(t);
  f.trainer.loader = -1;
  f.trainer.works.clear();
  f.trainer.source = StepSource::kOptimizer;
  f.trainer.processCpu = f.trainer.window();  // a thread beside it makes the data
  Judgement j = f.judge();
  CHECK(j.verdict.boundBy == "unknown");
  CHECK(j.verdict.confidence == Confidence::kLow);
  CHECK_FALSE(j.verdict.healthy.has_value());
  REQUIRE_FALSE(j.findings.empty());
  CHECK(j.findings[0].id == "compute.cpu_bound");
  CHECK(j.findings[0].confidence == Confidence::kLow);
  CHECK(says(j.findings[0], "40 %"));
  f.trainer.cpu = f.trainer.processCpu = Nanos{};  // nothing is known of its CPU
  CHECK(f.judge().verdict.boundBy == "unknown");
}

TEST_CASE("a run without steps has no verdict and no findings of the pipeline") {
  Training t;
  t.steps = 0;
  const Judgement j = factsOf(t).judge();
  CHECK(j.verdict.boundBy == "unknown");
  CHECK_FALSE(j.verdict.healthy.has_value());
  CHECK_FALSE(j.verdict.auRatio.has_value());
  REQUIRE(j.verdict.withheld);
  CHECK(j.verdict.withheld->why == NoVerdict::Why::kNoSteps);
  CHECK(j.findings.empty());
}

TEST_CASE("facts that lie outside every range do not break the judge") {
  Facts f = factsOf(inProcess());
  f.trainer.loader = 7;
  CHECK_NOTHROW(f.judge());
  f.trainer.loader = 0;
  f.trace.loaders[0].data.workers = 2'000'000'000;
  f.trace.loaders[0].data.prefetch = 2'000'000'000;
  f.run.cores = 0;
  for (BatchWork& w : f.trainer.works) {
    w.cpu = ms(-5);
    w.extract = ms(-1);
  }
  CHECK_NOTHROW(f.judge());
}

TEST_CASE("the same facts give the same answer to the last digit") {
  const Facts f = factsOf(inProcess());
  const Judgement a = f.judge(), b = f.judge();
  REQUIRE(a.findings.size() == b.findings.size());
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    CHECK(a.findings[i].id == b.findings[i].id);
    for (std::size_t k = 0; k < a.findings[i].advice.size(); ++k)
      CHECK(a.findings[i].advice[k].predicted.high == b.findings[i].advice[k].predicted.high);
  }
}

TEST_CASE("what was checked and found fine is listed with its number") {
  Facts f = factsOf(Training{});
  f.run.throttledRatio = 0.0;
  f.run.swapPagesPerSecond = 0.0;
  const auto lines = f.judge().notAProblem;
  const auto has = [&](const char* text) {
    return std::find(lines.begin(), lines.end(), text) != lines.end();
  };
  CHECK(has("CPU throttling 0 %"));
  CHECK(has("swap 0 pages/s"));
  f.run.throttledRatio = 0.5;
  const auto now = f.judge().notAProblem;
  CHECK(std::none_of(now.begin(), now.end(), [](const std::string& line) {
    return line.find("throttling") != std::string::npos;
  }));
}

// Idle workers, a trainer that waits all the same, `more` ms a step: nothing here can say why.
static Facts waiting(double more) {
  Facts f = factsOf(
      {.workers = 4, .waitExtract = 0.4, .waitTransform = 0.4, .waitLoad = 0, .batchCpu = 1});
  for (Step& s : f.trainer.steps) {
    s.split.wait += ms(more);
    s.end += ms(more);
  }
  f.trainer.split.wait += ms(more) * 200;
  f.trainer.windowEnd += ms(more) * 200;
  return f;
}

TEST_CASE("waiting that no rule explains is never called healthy") {
  for (const double more : {1.0, 4.0}) {
    const Judgement j = waiting(more).judge();
    CHECK(j.verdict.healthy != Maybe<bool>(true));
    CHECK(j.verdict.boundBy == "unknown");
    CHECK(j.verdict.confidence == Confidence::kLow);
    REQUIRE(j.verdict.withheld);
    CHECK(j.verdict.withheld->why == NoVerdict::Why::kNoFix);
  }
}

TEST_CASE("where data takes most of the time, a fix of the rest alone is no verdict") {
  const auto judged = [](double more) {
    Facts f = waiting(more);
    StackFacts& s = f.trainer.stacks;
    for (int i = 0; i < 400; ++i) s.trainer.add(&f.trainer + i);
    s.trainerTime = 400;
    s.overheads[static_cast<std::size_t>(OverheadKind::kLogging)] = 60;
    return f.judge();
  };
  const Judgement few = judged(0), much = judged(30);
  for (const Judgement* j : {&few, &much}) {
    REQUIRE(!j->findings.empty());
    CHECK(j->findings[0].id == "periodic.logging");
  }
  CHECK(!few.verdict.withheld);
  REQUIRE(much.verdict.withheld);
  CHECK(much.verdict.withheld->why == NoVerdict::Why::kNoFix);
}

TEST_CASE("a compute ceiling that has the loop's own data in it is not shown") {
  Facts f = factsOf(Training{.workers = 0, .compute = 4, .waitTransform = 6});
  const auto ceiling = [&] {
    const Judgement j = f.judge();
    return std::any_of(j.ceilings.begin(), j.ceilings.end(),
                       [](const Ceiling& c) { return c.stage == "compute"; });
  };
  CHECK(ceiling());
  f.trainer.source = StepSource::kInferred;
  CHECK_FALSE(ceiling());
}

TEST_CASE("memory is no headroom where the kernel killed a process for want of it") {
  Facts f = factsOf(Training{});
  f.run.memoryAvailable = 8'000'000'000;
  const auto named = [&] {
    const auto lines = f.judge().notAProblem;
    return std::any_of(lines.begin(), lines.end(),
                       [](const std::string& line) { return line.starts_with("memory headroom"); });
  };
  CHECK(named());
  for (const std::int64_t kills : {2, 3}) {
    CgroupUsage row;
    row.oomKills = kills;
    f.trace.cgroups.push_back({Nanos(kills), row});
  }
  CHECK_FALSE(named());
}

TEST_CASE("a training whose memory grows is said to have none left soon") {
  Facts f = factsOf(Training{});
  f.run.memoryAvailable = 8'000'000'000;
  const auto grows = [&](double bytesPerSecond) {
    f.trainer.growthPerSecond = bytesPerSecond;
    for (const std::string& line : f.judge().caveats)
      if (line.starts_with("The training process grows by")) return line;
    return std::string();
  };
  CHECK(grows(0).empty());
  CHECK(grows(10'000).empty());  // days
  const std::string line = grows(100'000'000);
  CHECK(line.find("100 MB/s") != line.npos);
  CHECK(line.find("8 GB that are free last 80 s") != line.npos);
  f.run.memoryAvailable.reset();
  CHECK(grows(100'000'000).empty());
  f.run.memoryAvailable = 8'000'000'000;
  f.trainer.steps.clear();  // a program that makes a table is to keep it
  CHECK(grows(100'000'000).empty());
}

TEST_CASE("throttling that was not measured is listed where there is a limit, and CPU use always") {
  Facts f = factsOf(Training{});
  f.run.throttledRatio.reset();
  const auto listed = [&](const std::string& name) {
    const auto lines = f.judge().notMeasured;
    return std::find(lines.begin(), lines.end(), name) != lines.end();
  };
  CHECK_FALSE(listed("CPU throttling"));
  CgroupUsage row;
  row.cpuQuotaMilli = 500;
  f.trace.cgroups.push_back({Nanos(1), row});
  CHECK(listed("CPU throttling"));
  f.run.throttledRatio = 0;
  CHECK_FALSE(listed("CPU throttling"));
  f.run.externalCpuRatio.reset();
  f.run.jobCpuRatio = 0.5;
  CHECK(listed("other programs' CPU"));
  f.run.jobCpuRatio.reset();
  CHECK(listed("CPU use, of this and of other programs"));
}

TEST_CASE("others' CPU costs no more than the job's threads waited for") {
  Facts f = factsOf(Training{});
  const auto named = [&](double external, Maybe<double> queued) {
    f.run.externalCpuRatio = external;
    f.run.queuedRatio = queued;
    return find(f.judge(), "host.noisy_neighbour") != nullptr;
  };
  f.run.jobCpuRatio = 0.6;
  CHECK(named(0.4, std::nullopt));
  CHECK_FALSE(named(0.4, 0.02));
  const auto fine = f.judge().notAProblem;  // and why so much is no problem
  CHECK(std::find(fine.begin(), fine.end(),
                  "other programs' CPU 40 % (the job waited for 2 % of the cores)") != fine.end());
  CHECK(named(0.4, 0.3));
  f.run.stealRatio = 0.4;  // no queue shows it
  CHECK(named(0, 0));
}
