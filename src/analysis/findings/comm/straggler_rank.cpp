// SPDX-License-Identifier: MIT
// comm.straggler_rank: one rank comes last to the collectives.
#include <algorithm>

#include "analysis/findings/comm/ranks_evidence.h"

namespace stallprof {
namespace {

const AdviceDefinition kEvenOutTheRanks = deviceAdvice(
    "even_out_the_ranks",
    "Profile that process alone: its batches (bucket by length, even shards), its device's "
    "clocks, its cores. The others wait for it in every step.");

Maybe<Finding> stragglerRank(const Evidence& e) {
  const RankFacts* last = lastToArrive(e);
  if (!last) return {};
  const bool own = last->process == e.trainer.process;
  const std::vector<RankFacts>& ranks = e.run.balance.ranks;
  // With devices each rank's own shares decide; the last one's own report has its cause by name.
  if (own && e.device.timeline) return {};
  double mine = 0, others = 0, wait = 0, compute = 0;
  for (const RankFacts& r : ranks) {
    if (r.process == e.trainer.process) mine = r.collectives;
    if (r.process == last->process) continue;
    const double part = 1 / static_cast<double>(ranks.size() - 1);
    others += part * r.collectives;
    wait += part * r.wait;
    compute += part * r.compute;
  }
  const double share = (own ? others : mine) - last->collectives;
  if (share <= kNotable) return {};
  Finding f =
      deviceFinding(e, share,
                    own ? "This rank comes last to the collectives, the others wait for it"
                        : "One rank comes last to the collectives, and the others wait for it");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "{} spends {} of its time in collectives, {}{}",
              {textWord(nameOfRank(e, last->process)), ratioWord(last->collectives),
               textWord(own ? "the others " : "this one "), ratioWord(own ? others : mine)},
              ratioWord(share));
  // What takes it longer: where it is either.
  if (last->wait - wait > std::max(kNotable, last->compute - compute))
    addEvidence(f, "it waits {} of its time for data, the others {}",
                {ratioWord(last->wait), ratioWord(wait)});
  else if (last->compute - compute > kNotable)
    addEvidence(f, "it computes {} of its time, the others {}",
                {ratioWord(last->compute), ratioWord(compute)});
  const auto saved = [&](double part) {
    return e.device.timeline ? Saved{part * share, 0, part * share} : Saved{part * share, 0, 0};
  };
  return withAdvice(f,
                    {adviceOf(kEvenOutTheRanks, {"code", "ranks", "uneven", "even"},
                              predictSaved(e, saved(0.7), saved(0.1), saved(1),
                                           "seven tenths of the difference, at most all, goes"))});
}

}  // namespace

extern const FindingDefinition kStragglerRank(
    "comm.straggler_rank", stragglerRank, offers(kEvenOutTheRanks),
    {.cause = R"(One rank comes last to the collectives: every step waits for it.)",
     .rule = R"(of the ranks in one recording, one spends less than half as much of its time in
  collectives as each of the others, by 5 % of the window or more: they wait in theirs for it. With
  a device that is the time it ran nothing else, without one the samples that found the thread in a
  collective, or blocked in backward with no thread of its process at work; where those are under
  30, how much longer than the least its thread was blocked in its steps. Without a device, less
  than four fifths are enough, if it is 5 % of the window beyond chance and no turns are seen.)",
     .fixes = R"(- Profile that rank alone: its batches, its device's clocks, its cores.
- Even shards.)",
     .wrong = R"(ranks take turns, or the slow one is on another host.)"});

}  // namespace stallprof
