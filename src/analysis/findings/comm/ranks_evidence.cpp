// SPDX-License-Identifier: MIT
#include "analysis/findings/comm/ranks_evidence.h"

#include <algorithm>

#include "analysis/blame/samples/ranks.h"

namespace stallprof {

const RankFacts* lastToArrive(const Evidence& e) {
  // Of the other ranks' time in collectives. On a device it may be that they have more to send.
  constexpr double kFarBelow = 0.5, kBelow = 0.8;
  constexpr double kSomeUneven = 0.1;  // of the steps: fewer are chance
  const std::vector<RankFacts>& ranks = e.run.balance.ranks;
  if (ranks.size() < 2) return nullptr;
  const auto last = std::min_element(
      ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.collectives < b.collectives; });
  const RankFacts* next = nullptr;
  for (const RankFacts& r : ranks)
    if (&r != &*last && (!next || r.collectives < next->collectives)) next = &r;
  const double apart = next->collectives - last->collectives;
  const bool far = last->collectives < kFarBelow * next->collectives && apart > kNotable;
  // Where steps are long enough to be compared one by one, it must be the late one in them.
  const RankBalance& b = e.run.balance;
  const bool turns = b.uneven > kSomeUneven && last->late < kOneRank;
  const bool sure = last->collectives < kBelow * next->collectives && !turns &&
                    apart - last->chance - next->chance > kNotable;
  return far || (sure && !e.device.timeline) ? &*last : nullptr;
}

std::string nameOfRank(const Evidence& e, ProcessId process) {
  const std::string pid = std::to_string(e.trace.process(process).pid);
  const Maybe<int> rank = rankOf(e.trace, process, false);
  return rank ? "rank " + std::to_string(*rank) + " (process " + pid + ")" : "the process " + pid;
}

}  // namespace stallprof
