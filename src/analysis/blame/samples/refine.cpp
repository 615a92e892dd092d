// SPDX-License-Identifier: MIT
#include "analysis/blame/samples/refine.h"

#include <algorithm>

namespace stallprof {
namespace {

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
    if (phase == own || phase == Phase::kSync || part <= Nanos{}) continue;
    if (addPhase(split, blame, phase, part)) from -= part;
  }
}

}  // namespace

bool addPhase(Split& split, Blame& blame, Phase phase, Nanos time) {
  // Time for data is waited for, and by whom is known: a user's mark for his own loading code.
  const bool data = phase == Phase::kExtract || phase == Phase::kTransform;
  if (data) split.wait += time;
  Nanos* const to = phase == Phase::kCompute     ? &split.compute
                    : phase == Phase::kSync      ? &split.sync
                    : phase == Phase::kComm      ? &split.comm
                    : phase == Phase::kPeriodic  ? &split.periodic
                    : phase == Phase::kLoad      ? &split.load
                    : phase == Phase::kExtract   ? &blame.extract
                    : phase == Phase::kTransform ? &blame.transform
                                                 : nullptr;
  if (to) *to += time;
  return to != nullptr;
}

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
  const Nanos fetching = facts.gap.all.samples >= kEnoughWorkerSamples
                             ? scaled(other, facts.fetchWaits / facts.gap.time)
                             : Nanos{};
  move(facts.gap, Phase::kOther, other, split, blame);
  const Nanos unseen = std::min(fetching, other);  // parts are rounded
  split.wait += unseen;
  blame.unknown += unseen;
  other -= unseen;
  split.compute += compute;
  split.other += other;
}

}  // namespace stallprof
