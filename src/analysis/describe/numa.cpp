// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "analysis/describe/device_describe.h"
#include "analysis/describe/resources.h"
#include "analysis/device/device_use.h"
#include "analysis/facts/usage.h"
#include "base/largest.h"
#include "base/stats.h"

namespace stallprof {
namespace {

constexpr std::size_t kEnoughBatches = 20;  // of each kind, to compare their medians

// CPU seconds of a process by the node that it was on at the end of each.
template <class Use>
void forEachSecond(const ProcessLife& process, const TrainerFacts& trainer, Use use) {
  for (std::size_t i = 1; i < process.usage.size(); ++i) {
    const auto &before = process.usage[i - 1], &row = process.usage[i];
    if (row.at <= trainer.windowBegin || row.at > trainer.windowEnd || row.data.node < 0) continue;
    const Nanos cpu = before.data.cpu < Nanos{} ? Nanos{} : row.data.cpu - before.data.cpu;
    if (cpu > Nanos{}) use(row.at, row.data.node, seconds(cpu));
  }
}

// Where a process was at `at`, by the first row from then on, or the last; -1: not known.
std::int32_t nodeAt(const ProcessLife& process, Nanos at) {
  auto row = std::lower_bound(
      process.usage.begin(), process.usage.end(), at,
      [](const Timed<ProcessUsage>& candidate, Nanos t) { return candidate.at < t; });
  if (row == process.usage.end()) {
    if (process.usage.empty()) return -1;
    --row;
  }
  return row->data.node;
}

void measureTrainer(const Trace& trace, const TrainerFacts& trainer, NumaUse& use) {
  std::map<std::int32_t, double> onNode;
  double all = 0;
  forEachSecond(trace.process(trainer.process), trainer, [&](Nanos, std::int32_t node, double cpu) {
    onNode[node] += cpu;
    all += cpu;
  });
  const auto largest = largestIn(onNode);
  if (largest == onNode.end()) return;
  use.trainerNode = largest->first;
  use.trainerNodeRatio = largest->second / all;
  const auto used = devicesUsed(trace, trainer);
  for (const auto& row : trace.devices)
    if (!used.empty() && row.data.device == used.front() && row.data.node >= 0)
      use.deviceNode = row.data.node;
  if (!use.deviceNode) return;
  const auto near = onNode.find(*use.deviceNode);
  use.deviceRemoteRatio = 1 - (near == onNode.end() ? 0 : near->second / all);
}

Maybe<double> workersRemote(const Trace& trace, const TrainerFacts& trainer) {
  const ProcessLife& beside = trace.process(trainer.process);
  double remote = 0, all = 0;
  for (const WorkerFacts& worker : trainer.workers)
    forEachSecond(trace.process(worker.process), trainer,
                  [&](Nanos at, std::int32_t node, double cpu) {
                    const std::int32_t trainers = nodeAt(beside, at);
                    if (trainers < 0) return;
                    all += cpu;
                    if (node != trainers) remote += cpu;
                  });
  return per(remote, all);
}

// Both kinds in one run are an experiment: the same batches, received by the same thread. A cost is
// what the middle halves of both do not share; else none is seen.
Maybe<double> handoverCost(const Trace& trace, const TrainerFacts& trainer) {
  if (trainer.window() <= Nanos{}) return std::nullopt;
  std::map<std::uint32_t, const BatchWork*> works;
  for (const BatchWork& work : trainer.works)
    if (work.worker >= 0) works[work.step] = &work;
  const ProcessLife& receiver = trace.process(trainer.process);
  std::vector<double> near, remote;
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i) {
    const Step& step = trainer.steps[i];
    const auto work = works.find(step.number);
    if (step.boundary || work == works.end()) continue;
    const ThreadLife& maker = trace.thread(work->second->thread);
    const std::int32_t from = nodeAt(trace.process(maker.process), work->second->end);
    const std::int32_t to = nodeAt(receiver, step.begin);
    if (from < 0 || to < 0) continue;
    (from == to ? near : remote).push_back(seconds(step.split.load - step.split.copy));
  }
  if (near.size() < kEnoughBatches || remote.size() < kEnoughBatches) return std::nullopt;
  if (quantile(remote, 0.25) <= quantile(near, 0.75)) return 0;
  const double held = static_cast<double>(near.size() + remote.size());
  const double share = static_cast<double>(remote.size()) / held;
  return (median(remote) - median(near)) * share * static_cast<double>(trainer.windowSteps()) /
         seconds(trainer.window());
}

}  // namespace

Maybe<NumaUse> measureNuma(const Trace& trace, const TrainerFacts& trainer) {
  NumaUse use;
  for (const auto& row : trace.host) use.nodes = std::max<std::int64_t>(use.nodes, row.data.nodes);
  if (use.nodes < 2) return std::nullopt;
  measureTrainer(trace, trainer, use);
  use.workerRemoteRatio = workersRemote(trace, trainer);
  use.handoverCostRatio = handoverCost(trace, trainer);
  return use;
}

}  // namespace stallprof
