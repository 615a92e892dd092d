// SPDX-License-Identifier: MIT
#include "analysis/verdict/judge.h"

#include <algorithm>

#include "analysis/findings/overhead.h"
#include "analysis/verdict/rank.h"
#include "analysis/verdict/registry.h"

namespace stallprof {
namespace {

// The monitoring library's figure is of all processes, and counts any kernel: it bounds this
// trainer's work only where nobody else is seen on the device, and then roughly.
constexpr double kRoughly = 0.9;

double busyOutside(const Evidence& e) {
  const DeviceGauge* g = e.device.gauge;
  if (!e.device.seen || !g) return 0;
  for (const auto& row : e.trace.deviceProcesses)
    if (row.data.device == g->device && row.data.process != e.trainer.process) return 0;
  return g->busyRatio.value_or(0);
}

// No prediction of a change that leaves the device's work as it is may be faster than that work.
void boundByDevice(const Evidence& e, const FindingDefinition& definition, Finding& f) {
  const double busy = e.device.timeline ? e.device.busy : busyOutside(e);
  if (busy <= 0) return;
  const double limit = 1 / std::clamp(busy, 0.02, 1.0);
  for (Advice& a : f.advice) {
    const AdviceDefinition* offered = definition.offered(a.id);
    if (offered && offered->changesDevice) continue;
    for (Maybe<double>* p : {&a.predicted.speedup, &a.predicted.low, &a.predicted.high})
      if (*p) *p = std::min(**p, limit);
    if (!e.device.timeline && a.predicted.low)
      a.predicted.low = std::min(*a.predicted.low, std::max(1.0, kRoughly * limit));
  }
}

// Beside a device that is busy nothing but its own work matters (DeviceEvidence::bound): data that
// are counted by their share alone, as no change is predicted, may all be made meanwhile.
bool hiddenByDevice(const Evidence& e, const FindingDefinition& definition, const Finding& f) {
  if (!e.device.bound() || (!e.device.timeline && busyOutside(e) <= 0)) return false;
  if (f.phase != Phase::kExtract && f.phase != Phase::kTransform && f.phase != Phase::kLoad)
    return false;
  return std::none_of(f.advice.begin(), f.advice.end(), [&](const Advice& a) {
    const AdviceDefinition* offered = definition.offered(a.id);
    return a.predicted.speedup || (offered && offered->changesDevice);
  });
}

// The low end of an assumption is no quantile of anything.
void dropAssumedIntervals(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    for (Advice& a : f.advice)
      if (a.predicted.basis == Basis::kAssumed) a.predicted.low.reset();
}

}  // namespace

Judgement judge(const Trace& trace, const TrainerFacts& trainer, const RunFacts& run) {
  const Evidence e = gather(trace, trainer, run);
  const Confidence highest = highestConfidence(e);
  Judgement j;
  j.ceilings = e.ceilings;
  if (e.computeCeilingHoldsData() || stepWaitsForLocks(e))
    std::erase_if(j.ceilings,
                  [](const Ceiling& c) { return c.stage == "compute" && c.basis == "inferred"; });
  // Without steps and a known loop a smaller share may as well be of setup, or of what the program
  // is about; not where a program without an interpreter divides its time between data and compute.
  const bool divided = trainer.native.seen && e.unexplained() <= kMaxUnexplained;
  const bool unclear = trainer.source == StepSource::kNone && e.phaseOfHalf().empty() &&
                       trainer.loopAt.none() && !divided;
  for (const FindingDefinition* definition : allFindings()) {
    Maybe<Finding> found = definition->healthy || unclear ? std::nullopt : definition->find(e);
    if (!found) continue;
    if (hiddenByDevice(e, *definition, *found)) continue;
    nameFunction(e, *found);
    boundByDevice(e, *definition, *found);
    found->confidence = std::min(found->confidence, highest);
    j.findings.push_back(std::move(*found));
  }
  j.verdict = verdictOf(e, j.findings);
  dropAssumedIntervals(j.findings);
  j.caveats = caveats(e, j.findings);
  j.notAProblem = notAProblem(e, j.findings);
  j.notMeasured = notMeasured(e);
  return j;
}

void placeUnexplained(Verdict& verdict, const std::vector<LineInfo>& lines) {
  Maybe<NoVerdict>& reason = verdict.withheld;
  if (!reason || reason->why != NoVerdict::Why::kUnexplained) return;
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const LineInfo& line) {
    return (line.phase == Phase::kUnknown || line.phase == Phase::kOther) &&
           2 * line.ratio > reason->value;
  });
  if (found != lines.end()) reason->at = found->where;
}

}  // namespace stallprof
