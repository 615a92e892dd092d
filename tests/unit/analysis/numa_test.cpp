// SPDX-License-Identifier: MIT
#include "analysis/describe/resources.h"
#include "tests/unit/analysis/facts_builder.h"
#include "tests/unit/analysis/near.h"
#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// The trainer on node 0 but for one second of ten, worker 2 on node 1 throughout.
const std::string kTwoNodes =
    kTrainer + kWorker +
    "0 host busy=0s idle=0s nodes=2\n"
    "10s usage process=1 cpu=0s node=0\n11s usage process=1 cpu=1s node=0\n"
    "12s usage process=1 cpu=2s node=1\n20s usage process=1 cpu=10s node=0\n"
    "10s usage process=2 cpu=0s node=1\n11s usage process=2 cpu=1s node=1\n"
    "12s usage process=2 cpu=2s node=1\n20s usage process=2 cpu=4s node=1\n";

TrainerFacts windowed() {
  TrainerFacts facts;
  facts.process = ProcessId{1};
  facts.thread = ThreadId{1};
  facts.windowBegin = 10s;
  facts.windowEnd = 20s;
  facts.workers.emplace_back();
  facts.workers.back().process = ProcessId{2};
  return facts;
}

// 100 steps of 100 ms, each batch by worker 2 (thread 2) on node 1 or, every other one, by worker 3
// on node 0; receiving one takes as long as given, in turn longer by a tenth.
TrainerFacts handingOver(Nanos fromRemote, Nanos fromOwn) {
  TrainerFacts facts = windowed();
  for (std::uint32_t i = 0; i < 100; ++i) {
    Step step;
    step.begin = 10s + i * 100ms;
    step.end = step.begin + 100ms;
    step.number = i;
    const bool remote = i % 2 == 0;
    const Nanos load = remote ? fromRemote : fromOwn;
    step.split.load = i % 4 < 2 ? load : load + load / 10;
    step.split.compute = 100ms - step.split.load;
    facts.steps.push_back(step);
    BatchWork work;
    work.step = i;
    work.worker = remote ? 0 : 1;
    work.thread = ThreadId{remote ? 2u : 3u};
    work.end = step.begin;
    facts.works.push_back(work);
  }
  return facts;
}

const std::string kThirdOnFirstNode =
    "0 process process=3 parent=1 pid=103 comm=\"pt_data_worker\"\n"
    "0 thread thread=3 process=3 tid=103 name=\"pt_data_worker\"\n"
    "10s usage process=3 cpu=0s node=0\n20s usage process=3 cpu=4s node=0\n";

Facts judged(Maybe<double> workers, Maybe<double> cost, double load) {
  Facts f = factsOf(Training{.load = load});
  f.run.numa = NumaUse{.nodes = 2,
                       .trainerNode = 0,
                       .deviceNode = {},
                       .trainerNodeRatio = 1,
                       .deviceRemoteRatio = {},
                       .workerRemoteRatio = workers,
                       .handoverCostRatio = cost};
  return f;
}

}  // namespace

TEST_CASE("CPU time counts for the node that a process was on, of workers beside the trainer's") {
  const auto use = measureNuma(traceOf(kTwoNodes), windowed());
  REQUIRE(use);
  CHECK(use->nodes == 2);
  CHECK(use->trainerNode == Maybe<std::int32_t>(0));
  CHECK(equals(use->trainerNodeRatio, 0.9));
  CHECK(equals(use->workerRemoteRatio, 3.0 / 4));
  CHECK(!use->deviceNode);
  CHECK(!use->handoverCostRatio);
}

TEST_CASE("a host of one node, or of which none is known, has no such facts") {
  std::string one = kTwoNodes;
  one.replace(one.find("nodes=2"), 7, "nodes=1");
  CHECK(!measureNuma(traceOf(one), windowed()));
  one.erase(one.find(" nodes=1"), 8);
  CHECK(!measureNuma(traceOf(one), windowed()));
}

TEST_CASE("the trainer's device is the one it used, and remote where it is on another node") {
  const std::string devices =
      "0 device device=\"GPU-a\" name=\"H100\" node=0\n0 device device=\"GPU-b\" name=\"H100\" "
      "node=1\n11s device_process device=\"GPU-b\" process=1 pid=100 memory=1000\n";
  const auto use = measureNuma(traceOf(kTwoNodes + devices), windowed());
  REQUIRE(use);
  CHECK(use->deviceNode == Maybe<std::int32_t>(1));
  CHECK(equals(use->deviceRemoteRatio, 0.9));
}

TEST_CASE("what batches from another node cost is what the trainer took longer to receive them") {
  const Trace trace = traceOf(kTwoNodes + kThirdOnFirstNode);
  const auto cost = [&](Nanos remote, Nanos own) {
    return measureNuma(trace, handingOver(remote, own))->handoverCostRatio;
  };
  // The trainer itself was on node 1 for a second: then the other worker is the remote one.
  const auto slower = cost(30ms, 10ms);
  REQUIRE(slower);
  CHECK(*slower > 0.08);
  CHECK(*slower < 0.12);
  CHECK(equals(cost(10ms, 10ms), 0));
  CHECK(equals(cost(10ms, 30ms), 0));
}

TEST_CASE("nodes are a caveat where the way between them takes time, or may") {
  CHECK(judged(0.9, 0.0, 5).judge().caveats.empty());  // compared, and no difference seen
  CHECK(judged(0.9, {}, 0).judge().caveats.empty());   // nothing is moved
  CHECK(judged(0.1, {}, 5).judge().caveats.empty());
  CHECK(judged(0.9, 0.2, 5).judge().caveats.at(0) ==
        "Workers spent 90 % of their CPU time on another NUMA node than the trainer: receiving "
        "those batches took 20 % of the time more than batches from its own node.");
  CHECK(judged(0.9, {}, 5).judge().caveats.at(0).find("is unknown") != std::string::npos);
}
