// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/findings.h"
#include "analysis/findings/device_rules.h"
#include "analysis/findings/hot.h"
#include "analysis/findings/not_a_problem.h"
#include "analysis/findings/rank.h"
#include "analysis/findings/rules.h"

namespace stallprof {
namespace {

// In the order of the design's table; a stable sort keeps it among equals.
constexpr Rule kRules[] = {
    storageBandwidth, randomAccess,    smallFiles,     remoteLatency,     pageFaults,
    coldCache,        inProcess,       tooFewWorkers,  cpuSaturated,      threadsBehind,
    slowOp,           gilBound,        oversubscribed, stragglers,        ipc,
    noPrefetch,       workerStartup,   workerMemory,   pageableCopy,      transferBandwidth,
    pinThread,        launchBound,     syncPoints,     underfilled,       contention,
    pythonOverhead,   collectiveBound, stragglerRank,  rankImbalance,     dataParallel,
    checkpoint,       evaluation,      logging,        garbageCollection, memoryPressure,
    cpuThrottled,     noisyNeighbour,  gpuThrottled};

}  // namespace

std::span<const Rule> allRules() { return kRules; }

// `recording` names the verify commands; `advise` writes those, with the rest of the words.
Judgement judge(const Trace& trace, const TrainerFacts& trainer, const RunFacts& run,
                const std::string&) {
  const Evidence e = gather(trace, trainer, run);
  Judgement j;
  j.ceilings = e.ceilings;
  for (const Rule rule : allRules())
    if (auto found = rule(e)) j.findings.push_back(std::move(*found));
  nameFunctions(e, j.findings);
  boundByDevice(e, j.findings);
  if (e.device.seen && !e.device.timeline)  // a wait may be hidden behind the device's work
    for (Finding& f : j.findings) f.confidence = std::min(f.confidence, Confidence::kMedium);
  if (trainer.source == StepSource::kInferred)  // no surer than the steps that shares are of
    for (Finding& f : j.findings)
      f.confidence =
          std::min(f.confidence, trainer.sureSteps ? Confidence::kMedium : Confidence::kLow);
  j.verdict = verdictOf(e, j.findings);
  j.notAProblem = notAProblem(e, j.findings);
  j.notMeasured = notMeasured(e);
  return j;
}

}  // namespace stallprof
