// SPDX-License-Identifier: MIT
// comm.rank_imbalance: some rank is late in each step, a different one each time.
#include <algorithm>

#include "analysis/findings/comm/ranks_evidence.h"

namespace stallprof {
namespace {

const AdviceDefinition kBalanceBatches{
    "balance_batches",
    "Give the ranks batches of like cost in each step: bucket by length, or let a sampler "
    "deal them out by size; and see that none of them waits for its data now and then."};

Maybe<Finding> rankImbalance(const Evidence& e) {
  const RankBalance& b = e.run.balance;
  if (b.ranks.size() < 2 || b.saved <= kNotable || lastToArrive(e)) return {};
  const auto latest = std::max_element(b.ranks.begin(), b.ranks.end(),
                                       [](auto& x, auto& y) { return x.late < y.late; });
  if (latest->late >= kOneRank) return {};
  Finding f = deviceFinding(e, b.saved, "Ranks wait for each other: now one is late, now another");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "in {} of the steps one rank was waited for", {ratioWord(b.uneven)});
  std::string turns;
  for (const RankFacts& r : b.ranks)
    turns +=
        (turns.empty() ? "" : ", ") + nameOfRank(e, r.process) + " in " + ratioWord(r.late).text;
  addEvidence(f, "of those, for {}", {textWord(turns)});
  return withAdvice(
      f, {adviceOf(kBalanceBatches, {"code", "batches of a step", "uneven", "even"},
                   predictSaved(e, {0.7 * b.saved, 0, 0}, {0.1 * b.saved, 0, 0}, {b.saved, 0, 0},
                                "seven tenths of the waiting, at most all, goes"),
                   "batches of like cost are less mixed")});
}

}  // namespace

extern const FindingDefinition kRankImbalance(
    "comm.rank_imbalance", rankImbalance, offers(kBalanceBatches),
    {.cause = R"(Some rank is late in each step, a different one each time.)",
     .rule =
         R"(of several ranks in one recording, without a device, evening them out would save over
  5 % of the steps' time, and none is the late one in 80 % of the steps in which one was waited for.
  A step counts when the others stood in collectives 5 % of it longer than the last one did, and
  longer than one and a half samples.)",
     .fixes = R"(- Balance batches by cost (bucket by length).
- Faster data loading on every rank.)",
     .wrong =
         R"(a single rank dominates: comm.straggler_rank. Differences below two samples (20 ms
  at 100 Hz) are not seen; ranks that have devices are not compared this way.)"});

}  // namespace stallprof
