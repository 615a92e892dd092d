// SPDX-License-Identifier: MIT
#include "analysis/blame/refine.h"

namespace stallprof {
namespace {

// Adds `time` to the component of the split that is `phase`; false: it has none.
bool addTo(Split& split, Blame& blame, Phase phase, Nanos time) {
  switch (phase) {
    case Phase::kCompute:
      split.compute += time;
      return true;
    case Phase::kComm:
      split.comm += time;
      return true;
    case Phase::kPeriodic:
      split.periodic += time;
      return true;
    case Phase::kLoad:
      split.load += time;
      return true;
    // As a user's mark for his own loading code: time for data, and whose is known.
    case Phase::kExtract:
      split.wait += time;
      blame.extract += time;
      return true;
    case Phase::kTransform:
      split.wait += time;
      blame.transform += time;
      return true;
    default:
      return false;
  }
}

void move(const PhaseSamples& samples, Phase own, Nanos& from, Split& split, Blame& blame) {
  if (samples.all.samples < kEnoughWorkerSamples) return;
  const Nanos whole = from;
  if (own == Phase::kCompute) {  // in a step only a wait for threads is unknown, or for a graph
    const Nanos part = scaled(whole, samples.ratio(Phase::kUnknown));
    const Nanos hidden = scaled(whole, samples.ratio(Phase::kOther));
    split.wait += part;
    blame.unknown += part;
    split.other += hidden;
    from -= part + hidden;
  }
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    const auto phase = static_cast<Phase>(i);
    const Nanos part = scaled(whole, samples.ratio(phase));
    if (phase != own && part > Nanos{} && addTo(split, blame, phase, part)) from -= part;
  }
}

}  // namespace

FetchShares fetchShares(const StackFacts& facts) {
  FetchShares shares;
  if (facts.makingRunning.all.samples >= kEnoughWorkerSamples) {
    shares.cpuKnown = true;
    shares.cpuExtract = facts.makingRunning.ratio(Phase::kExtract);
    shares.cpuLoad = facts.makingRunning.ratio(Phase::kLoad);
  }
  if (facts.makingLocked.all.samples >= kEnoughWorkerSamples) {
    shares.lockExtract = facts.makingLocked.ratio(Phase::kExtract);
    shares.lockLoad = facts.makingLocked.ratio(Phase::kLoad);
  }
  if (facts.makingVague.all.samples >= kEnoughWorkerSamples) {
    shares.vagueExtract = facts.makingVague.ratio(Phase::kExtract);
    shares.vagueTransform = facts.makingVague.ratio(Phase::kTransform);
    shares.vagueLoad = facts.makingVague.ratio(Phase::kLoad);
  }
  return shares;
}

void refine(const StackFacts& facts, Split& split, Blame& blame) {
  // A wait that a device's work hides is no sample inside a step.
  const Nanos sure = split.hidden + split.annotatedCompute;
  Nanos compute = split.compute - sure, other = split.other - split.annotatedOther;
  split.compute = sure;
  split.other = split.annotatedOther;
  move(facts.step, Phase::kCompute, compute, split, blame);
  move(facts.gap, Phase::kOther, other, split, blame);
  split.compute += compute;
  split.other += other;
}

}  // namespace stallprof
