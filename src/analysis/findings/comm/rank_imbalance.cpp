// SPDX-License-Identifier: MIT
// comm.rank_imbalance: some rank is late in each step, a different one each time.
#include <algorithm>

#include "analysis/findings/comm/ranks_evidence.h"

namespace stallprof {
namespace {

const AdviceDefinition kBalanceBatches{
    "balance_batches",
    "Give all ranks batches of similar cost in each step: bucket by length, or use a sampler that "
    "distributes samples by size. Also check that no rank waits for its data in some steps."};

Maybe<Finding> rankImbalance(const Evidence& e) {
  const RankBalance& b = e.run.balance;
  if (b.ranks.size() < 2 || b.saved <= kNotable || lastToArrive(e)) return {};
  const auto latest = std::max_element(b.ranks.begin(), b.ranks.end(),
                                       [](auto& x, auto& y) { return x.late < y.late; });
  if (latest->late >= kOneRank) return {};
  Finding f = deviceFinding(
      e, b.saved, "Ranks wait for each other: different ranks are late in different steps");
  f.confidence = std::min(f.confidence, Confidence::kMedium);
  addEvidence(f, "in {} of the steps the other ranks waited for one rank", {ratioWord(b.uneven)});
  std::string turns;
  for (const RankFacts& r : b.ranks)
    turns +=
        (turns.empty() ? "" : ", ") + nameOfRank(e, r.process) + " in " + ratioWord(r.late).text;
  addEvidence(f, "share of these steps: {}", {textWord(turns)});
  return withAdvice(
      f, {adviceOf(kBalanceBatches, {"code", "batches of a step", "uneven", "even"},
                   predictSaved(e, {.own = b.saved}, {0.7, 0.1},
                                "seven tenths of the waiting is removed, at most all of it"),
                   "batches of similar cost are less mixed")});
}

}  // namespace

extern const FindingDefinition kRankImbalance(
    "comm.rank_imbalance", rankImbalance, offers(kBalanceBatches),
    {.cause = R"(In each step some rank is late, but not always the same one.)",
     .rule =
         R"(there are several ranks in one recording, without a device. Balancing them would save
  over 5 % of the steps' time. No rank is the late one in 80 % of the steps in which one was late. A
  step counts if the other ranks were in collectives longer than the last rank: by 5 % of the step,
  and by more than one and a half samples.)",
     .fixes = R"(- Balance batches by cost (bucket by length).
- Faster data loading on every rank.)",
     .wrong =
         R"(a single rank is usually the late one: see comm.straggler_rank. Differences below
  two samples (20 ms at 100 Hz) are not detected. Ranks with devices are not compared in this way.)"});

}  // namespace stallprof
