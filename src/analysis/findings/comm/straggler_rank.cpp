// SPDX-License-Identifier: MIT
// comm.straggler_rank: one rank comes last to the collectives.
#include <algorithm>

#include "analysis/findings/comm/ranks_evidence.h"

namespace stallprof {
namespace {

const AdviceDefinition kEvenOutTheRanks =
    deviceAdvice("even_out_the_ranks",
                 "Profile that process alone: its batches (bucket by length, even shards), its "
                 "device's clocks, its cores. The other ranks wait for it in every step.");

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
  Finding f = deviceFinding(e, share,
                            own ? "This rank is last to enter collectives; the others wait for it"
                                : "One rank is last to enter collectives; the others wait for it");
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
  return withAdvice(
      f,
      {adviceOf(kEvenOutTheRanks, {"code", "ranks", "uneven", "even"},
                predictSaved(e, {.own = share, .device = e.device.timeline ? share : 0}, {0.7, 0.1},
                             "seven tenths of the difference is removed, at most all of it"))});
}

}  // namespace

extern const FindingDefinition kStragglerRank(
    "comm.straggler_rank", stragglerRank, offers(kEvenOutTheRanks),
    {.cause = R"(One rank is last to enter the collectives. Every step waits for it.)",
     .rule =
         R"(one rank of a recording spends less than half as much time in collectives as each other
  rank, by 5 % of the window or more. The others wait for it. How time in collectives is measured:
  - with a device: the time in which it ran only collectives;
  - without a device: samples of the thread in a collective, or blocked in backward while no thread
    of its process works;
  - with under 30 of these samples: the blocked time in its steps above the minimum.
  Without a device, less than four fifths are enough, if the difference exceeds chance by 5 % of the
  window and the ranks do not alternate.)",
     .fixes = R"(- Profile that rank alone: its batches, its device's clocks, its cores.
- Even shards.)",
     .wrong =
         R"(different ranks are late in different steps, or the slow rank is on another host.)"});

}  // namespace stallprof
