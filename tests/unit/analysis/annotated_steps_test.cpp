// SPDX-License-Identifier: MIT
#include "analysis/steps/annotated_steps.h"

#include "analysis/blame/samples/refine.h"
#include "tests/unit/analysis/attributed.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// 20 steps 100 ms apart; 80 ms of each marked as the step: 20 ms read, 40 ms computed,
// 20 ms nothing said; 20 ms between two.
const std::string kMarks =
    "repeat 20 every 100ms\n"
    "1000ms range thread=1 duration=80ms name=\"step\" domain=\"stallprof\"\n"
    "1000ms span thread=1 duration=20ms phase=extract source=mark\n"
    "1020ms span thread=1 duration=40ms phase=compute source=mark\n"
    "end\n";

}  // namespace

TEST_CASE("marked steps: phases as annotated, the rest of a step compute, between two other") {
  const TrainerFacts facts = factsOf(kMarks);
  CHECK(facts.source == StepSource::kMarks);
  REQUIRE(facts.steps.size() == 20);
  CHECK(facts.steps[3].begin == 1300ms);
  CHECK(facts.steps[3].end == 1400ms);
  CHECK(facts.steps[19].end == 2980ms);
  CHECK(facts.window() == 14 * 100ms - 20ms);
  CHECK(facts.split.wait == 14 * 20ms);
  CHECK(facts.blame.extract == 14 * 20ms);
  CHECK(facts.split.compute == 14 * 60ms);
  CHECK(facts.split.other == 13 * 20ms);
  CHECK(facts.split.annotated == 14 * 60ms);
  CHECK(facts.split.annotatedCompute == 14 * 40ms);
  CHECK(facts.withoutFetches());
}

TEST_CASE("what a program annotated is not split by samples of its stacks") {
  StackFacts stacks;
  for (int i = 0; i < 100; ++i) stacks.step.add(Phase::kTransform, &stacks, 0.01);
  Split split;
  split.compute = 100ms;
  split.annotated = split.annotatedCompute = 70ms;
  Blame blame;
  refine(stacks, split, blame);
  CHECK(split.compute == 70ms);
  CHECK(split.wait == 30ms);
  CHECK(blame.transform == 30ms);
}

TEST_CASE("marks win over the hook's loader, which wins over a range named step") {
  const std::string fetches = "0 loader process=1 loader=1 workers=0\n" + kTwentyFetches;
  const auto ranges = [](const std::string& name, const std::string& domain) {
    return "repeat 10 every 200ms\n1030ms range thread=1 duration=150ms name=\"" + name +
           "\" domain=\"" + domain + "\"\nend\n";
  };
  const TrainerFacts marks = factsOf(fetches + ranges("step", "stallprof"));
  CHECK(marks.source == StepSource::kMarks);
  CHECK(marks.steps.size() == 10);
  CHECK(marks.steps[0].batch == 1);  // the fetch within it, from 1100 ms
  CHECK_FALSE(marks.withoutFetches());
  const TrainerFacts named = factsOf(fetches + ranges("step", ""));
  CHECK(named.source == StepSource::kHook);
  CHECK(named.steps.size() == 20);
  const TrainerFacts mapped =
      factsOf("manifest map=\"outer=step\"\n" + fetches + ranges("outer", ""));
  CHECK(mapped.source == StepSource::kNvtx);
  CHECK(mapped.steps.size() == 10);
}

TEST_CASE("a step inside a step is part of it, and a long break is a boundary") {
  const TrainerFacts facts = factsOf(
      "repeat 10 every 100ms\n"
      "1000ms range thread=1 duration=90ms name=\"step\"\n"
      "1010ms range thread=1 duration=20ms name=\"step 1\" depth=1\n"
      "end\n"
      "repeat 10 every 100ms\n"
      "3000ms range thread=1 duration=90ms name=\"step\"\n"
      "end\n");
  CHECK(facts.source == StepSource::kNvtx);
  REQUIRE(facts.steps.size() == 20);
  CHECK(facts.steps[9].end == 3000ms);
  CHECK(facts.steps[9].boundary);
  CHECK_FALSE(facts.steps[8].boundary);
  CHECK_FALSE(facts.steps[10].boundary);
}

TEST_CASE("without steps one begins where data follows compute") {
  const TrainerFacts facts = factsOf(
      "repeat 20 every 100ms\n"
      "1000ms span thread=1 duration=10ms phase=extract source=nvtx\n"
      "1010ms span thread=1 duration=30ms phase=transform source=nvtx\n"
      "1040ms span thread=1 duration=50ms phase=compute source=nvtx\n"
      "1045ms span thread=1 duration=5ms phase=load source=nvtx\n"  // within compute: no step
      "end\n");
  CHECK(facts.source == StepSource::kNvtx);
  REQUIRE(facts.steps.size() == 20);
  CHECK(facts.steps[1].begin == 1100ms);
  CHECK(facts.steps[19].end == 2990ms);
  CHECK(facts.split.compute == 14 * 45ms);
  CHECK(facts.split.load == 14 * 5ms);
  CHECK(facts.split.wait == 14 * 40ms);
  CHECK(facts.split.other == 13 * 10ms);
}

TEST_CASE("phases without any compute, or of one step, make no steps") {
  CHECK(
      factsOf("repeat 9 every 1s\n1s span thread=1 duration=10ms phase=extract source=mark\nend\n")
          .steps.empty());
  CHECK(factsOf("1s span thread=1 duration=10ms phase=extract source=mark\n"
                "2s span thread=1 duration=10ms phase=compute source=mark\n")
            .steps.empty());
}

TEST_CASE(
    "the report of a program that marks its steps has a verdict, though nothing else is known") {
  const Analysis analysis = analyze(
      traceOf(kTrainer + "repeat 200 every 100ms\n"
                         "1000ms range thread=1 duration=100ms name=\"step\" domain=\"stallprof\"\n"
                         "1000ms span thread=1 duration=40ms phase=transform source=mark\n"
                         "1040ms span thread=1 duration=60ms phase=compute source=mark\n"
                         "1000ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
                         "end\n"));
  REQUIRE(analysis.trainers.size() == 1);
  CHECK(analysis.steps.source == "marks");
  CHECK(analysis.steps.count == 200);
  REQUIRE(analysis.breakdown.phase);
  CHECK(std::abs(analysis.breakdown.phase->transform - 0.4) < 1e-6);
  CHECK(std::abs(analysis.breakdown.phase->compute - 0.6) < 1e-6);
  CHECK(analysis.verdict.boundBy == "transform");
  CHECK(analysis.verdict.healthy == false);
  REQUIRE(!analysis.findings.empty());
  CHECK(analysis.findings[0].id == "transform.in_process");
}

TEST_CASE("batches that the loop makes are bound by what making them mostly is") {
  const auto judged = [](const char* more) {
    return analyze(
        traceOf(kTrainer +
                "repeat 200 every 100ms\n"
                "1000ms range thread=1 duration=100ms name=\"step\" domain=\"stallprof\"\n"
                "1000ms span thread=1 duration=10ms phase=transform source=mark\n"
                "1010ms span thread=1 duration=30ms phase=" +
                more +
                " source=mark\n"
                "1040ms span thread=1 duration=60ms phase=compute source=mark\n"
                "1000ms slice thread=1 duration=100ms run=100ms samples=10 wait=running\n"
                "end\n"));
  };
  for (const char* phase : {"extract", "transform"}) {
    const Analysis a = judged(phase);
    REQUIRE(!a.findings.empty());
    CHECK(a.findings[0].id == "transform.in_process");
    CHECK(nameOf(a.findings[0].phase) == phase);
    CHECK(a.verdict.boundBy == phase);
  }
}

TEST_CASE("a trainer is known by its steps, the thread by which marks most") {
  const Trace trace =
      traceOf(kTrainer +
              "0 thread thread=2 process=1 tid=101\n"
              "repeat 20 every 100ms\n"
              "1000ms range thread=2 duration=80ms name=\"step\" domain=\"stallprof\"\n"
              "end\n"
              "1000ms range thread=1 duration=80ms name=\"step\" domain=\"stallprof\"\n");
  const Roles roles = findRoles(trace);
  CHECK(only(roles.trainers).thread == ThreadId{2});
}
