// SPDX-License-Identifier: MIT
#include "advise/cost.h"

#include <algorithm>

#include "base/stats.h"

namespace stallprof {

Cost costOf(const Analysis& analysis, double pricePerHour) {
  Cost cost;
  cost.pricePerHour = std::max(0.0, pricePerHour);
  std::vector<double> hours;
  for (const EpochInfo& e : analysis.epochs)
    if (e.wall > Nanos{}) hours.push_back(seconds(e.wall) / 3600);
  if (hours.empty()) return cost;
  cost.perEpoch = cost.pricePerHour * median(hours);
  if (analysis.verdict.healthy == Maybe<bool>(true)) cost.wastedPerEpoch = 0;
  if (analysis.verdict.healthy != Maybe<bool>(false) || analysis.findings.empty()) return cost;
  for (const Advice& a : analysis.findings[0].advice)
    if (a.predicted.speedup) {  // the first that is predicted, as the report has it
      if (*a.predicted.speedup > 1 && a.predicted.basis == Basis::kReplayed)
        cost.wastedPerEpoch = *cost.perEpoch * (1 - 1 / *a.predicted.speedup);
      break;
    }
  return cost;
}

}  // namespace stallprof
