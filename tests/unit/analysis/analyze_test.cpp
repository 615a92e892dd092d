// SPDX-License-Identifier: MIT
#include <cmath>

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

std::string fetchedSteps(int thread, int count, const std::string& from) {
  const std::string who = " thread=" + std::to_string(thread);
  return "repeat " + std::to_string(count) + " every 100ms\n" +         //
         from + " fetch" + who + " loader=1 epoch=1 duration=20ms\n" +  //
         from + " optimizer" + who + " duration=5ms optimizer=1\nend\n";
}

}  // namespace

TEST_CASE("an empty trace is a run without steps, not an error") {
  const Analysis analysis = analyze(Trace{});
  CHECK(analysis.steps.count == 0);
  CHECK(!analysis.steps.source);
  CHECK(analysis.breakdown.scope == "run");
  CHECK(analysis.verdict.boundBy == "unknown");
  CHECK(!analysis.verdict.healthy);
  CHECK(analysis.findings.empty());
  CHECK(analysis.trainers.empty());
  CHECK(!analysis.notMeasured.empty());
}

TEST_CASE("a job that died before its first step has its resources, and no verdict") {
  const Analysis analysis =
      analyze(traceOf("manifest cores_usable=2\n" + kTrainer +
                      "0 host busy=0 job_cpu=0\n10s host busy=10s job_cpu=10s\n"
                      "5s framework process=1 name=\"torch\" version=\"2.1\"\n"
                      "9s fetch thread=1 loader=1 epoch=1 duration=1s batch=0\n"  // killed in it
                      "10s command_end signal=11\n"));
  CHECK(analysis.steps.count == 0);
  CHECK(analysis.breakdown.scope == "run");
  CHECK(analysis.resources.jobCpuRatio == 0.5);
  CHECK(analysis.run.framework == "torch 2.1");
  CHECK(analysis.run.exitSignal == 11);
  CHECK(analysis.trainers.empty());
}

TEST_CASE("of several trainers each has its entry, and the one of the longest window is on top") {
  const Analysis analysis = analyze(
      traceOf(kTrainer + "0 process process=2 pid=200\n0 thread thread=2 process=2 tid=200\n" +
              "0 process process=3 pid=300\n0 thread thread=3 process=3 tid=300\n" +
              fetchedSteps(1, 30, "1000ms") + fetchedSteps(2, 90, "5000ms") +
              "15s optimizer thread=3 optimizer=1\n"));
  REQUIRE(analysis.trainers.size() == 3);
  CHECK(analysis.trainers[0].pid == 100);
  CHECK(analysis.trainers[0].steps.count == 30);
  CHECK(analysis.trainers[1].steps.count == 90);
  CHECK(analysis.trainers[2].steps.count == 1);
  CHECK(analysis.steps.count == 90);
  CHECK(analysis.steps.window == analysis.trainers[1].steps.window);
}

TEST_CASE(
    "of ranks side by side the one that waits for data is on top, as the others wait for it") {
  const auto waiting = [](const std::string& second) {
    std::string text = kTrainer;
    for (const std::string id : {"2", "3"})
      text += "0 process process=" + id + " pid=" + id + "00\n0 thread thread=" + id +
              " process=" + id + " tid=" + id + "00\n";
    text += "repeat 60 every 100ms\n";
    for (const std::string id : {"1", "2", "3"})
      text += "1000ms fetch thread=" + id +
              " loader=1 epoch=1 duration=" + (id == "2" ? second : "1ms") +
              " batch=0+1*i\n1090ms optimizer thread=" + id + " duration=5ms optimizer=1\n";
    text += "end\n";
    for (const std::string id : {"1", "2", "3"})
      text += "7000ms fetch thread=" + id + " loader=1 epoch=1 end=1\n";
    const Analysis analysis = analyze(traceOf(text));
    REQUIRE(analysis.breakdown.ratio);
    return analysis.breakdown.ratio->dataWait;
  };
  CHECK(std::abs(waiting("40ms") - 0.4) < 0.01);
  CHECK(waiting("3ms") < 0.02);
}

TEST_CASE("row 21: a trainer of the same rank after another has gone is a further attempt") {
  const auto began = [](int id, const std::string& at, int rank) {
    const std::string number = std::to_string(id);
    return at + " process process=" + number + " pid=" + number + "00\n" +  //
           at + " thread thread=" + number + " process=" + number + " tid=" + number + "00\n" + at +
           " framework process=" + number +
           " name=\"torch\" version=\"2.1\" rank=" + std::to_string(rank) + "\n";
  };
  const Analysis analysis = analyze(
      traceOf(began(1, "0", 0) + began(2, "0", 1) + fetchedSteps(1, 30, "1000ms") +
              fetchedSteps(2, 30, "1000ms") +
              "5s process_gone process=1\n5s process_gone process=2\n" + began(3, "6s", 0) +
              began(4, "6s", 1) + fetchedSteps(3, 30, "7000ms") + fetchedSteps(4, 30, "7000ms")));
  REQUIRE(analysis.trainers.size() == 4);
  CHECK(analysis.trainers[0].attempt == 1);
  CHECK(analysis.trainers[1].attempt == 1);
  CHECK(analysis.trainers[2].attempt == 2);
  CHECK(analysis.trainers[3].attempt == 2);
}

TEST_CASE("the same trace gives the same answer") {
  const Trace trace = traceOf(kTrainer + fetchedSteps(1, 100, "1000ms"));
  const Analysis a = analyze(trace), b = analyze(trace);
  REQUIRE(a.findings.size() == b.findings.size());
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    CHECK(a.findings[i].id == b.findings[i].id);
    CHECK(a.findings[i].shareRatio == b.findings[i].shareRatio);
  }
  CHECK(a.verdict.boundBy == b.verdict.boundBy);
}
