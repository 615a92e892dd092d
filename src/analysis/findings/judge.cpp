// SPDX-License-Identifier: MIT
#include "analysis/findings.h"
#include "analysis/findings/hot.h"
#include "analysis/findings/not_a_problem.h"
#include "analysis/findings/rank.h"
#include "analysis/findings/rules.h"

namespace stallprof {
namespace {

// In the order of the design's table; a stable sort keeps it among equals.
constexpr Rule kRules[] = {
    storageBandwidth, randomAccess,  smallFiles,   remoteLatency, pageFaults,        coldCache,
    inProcess,        tooFewWorkers, cpuSaturated, slowOp,        gilBound,          oversubscribed,
    stragglers,       ipc,           noPrefetch,   workerStartup, workerMemory,      contention,
    pythonOverhead,   checkpoint,    evaluation,   logging,       garbageCollection, memoryPressure,
    cpuThrottled,     noisyNeighbour};

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
  j.verdict = verdictOf(e, j.findings);
  j.notAProblem = notAProblem(e, j.findings);
  j.notMeasured = notMeasured(e);
  return j;
}

}  // namespace stallprof
