// SPDX-License-Identifier: MIT
#include "analysis/findings/comm/ranks_evidence.h"

#include <algorithm>

#include "analysis/blame/samples/ranks.h"

namespace stallprof {

const RankFacts* lastToArrive(const Evidence& e) {
  constexpr double kFarBelow = 0.5;  // of the other ranks' time in collectives
  const std::vector<RankFacts>& ranks = e.run.balance.ranks;
  if (ranks.size() < 2) return nullptr;
  const auto last = std::min_element(
      ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.collectives < b.collectives; });
  double others = 1;
  for (const RankFacts& r : ranks)
    if (&r != &*last) others = std::min(others, r.collectives);
  const bool far = last->collectives < kFarBelow * others && others - last->collectives > kNotable;
  return far ? &*last : nullptr;
}

std::string nameOfRank(const Evidence& e, ProcessId process) {
  const std::string pid = std::to_string(e.trace.process(process).pid);
  const Maybe<int> rank = rankOf(e.trace, process, false);
  return rank ? "rank " + std::to_string(*rank) + " (process " + pid + ")" : "the process " + pid;
}

}  // namespace stallprof
