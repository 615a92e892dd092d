// SPDX-License-Identifier: MIT
#include "advise/cost.h"

#include <algorithm>

#include "base/stats.h"
#include "base/time.h"

namespace stallprof {

namespace {

// Later epochs wait next to nothing of what the first one did, or may: data were read for the first
// time in the only one that was seen.
bool ofFirstEpoch(const Analysis& a, const Finding& finding) {
  constexpr double kLittle = 0.05, kPart = 0.25;
  if (!isOfData(finding.phase)) return false;
  if (a.firstEpoch) return a.firstEpoch->later <= std::max(kLittle, kPart * a.firstEpoch->first);
  const bool cold = std::any_of(a.findings.begin(), a.findings.end(),
                                [](const Finding& f) { return f.id == "extract.cold_cache"; });
  const auto whole = std::count_if(a.epochs.begin(), a.epochs.end(),
                                   [](const EpochInfo& e) { return e.period.has_value(); });
  return cold && whole < 2;
}

// Of the first-ranked fix: new by old time. Null: none is known, or it is of a first epoch that is
// not like those to come; 1: there is nothing to fix.
Maybe<double> remaining(const Analysis& a, bool& measured) {
  if (!a.findings.empty() && !a.findings[0].advice.empty()) {
    const Advice& first = a.findings[0].advice[0];
    measured = first.outcome == "gain" && first.measured && *first.measured > 0;
    if (measured) return 1 / *first.measured;
    if (first.measured || failedWhenTried(first))
      return {};  // it was tried: what was predicted of it, or of another, counts no more
  }
  if (a.verdict.healthy == Maybe<bool>(true)) return 1;
  if (a.verdict.healthy != Maybe<bool>(false) || a.findings.empty()) return {};
  if (ofFirstEpoch(a, a.findings[0])) return {};
  for (const Advice& advice : a.findings[0].advice)
    if (advice.predicted.speedup) {  // the first, as the report has it
      const bool replayed = advice.predicted.basis == Basis::kReplayed;
      if (*advice.predicted.speedup > 1 && replayed) return 1 / *advice.predicted.speedup;
      break;
    }
  return {};
}

}  // namespace

Cost costOf(const Analysis& analysis, Maybe<double> pricePerHour, Maybe<double> epochs) {
  Cost cost;
  if (pricePerHour) cost.pricePerHour = std::max(0.0, *pricePerHour);
  std::vector<double> periods;
  for (const EpochInfo& e : analysis.epochs)
    if (e.period && *e.period > Nanos{}) periods.push_back(seconds(*e.period));
  // The first is counted once where later ones are unlike it.
  const double first = analysis.firstEpoch && !periods.empty() ? periods.front() : 0;
  if (first > 0) periods.erase(periods.begin());
  if (periods.empty()) return cost;
  const double epoch = median(periods);
  const Maybe<double> rest = remaining(analysis, cost.measured);
  if (cost.pricePerHour) cost.perEpoch = *cost.pricePerHour * epoch / 3600;
  if (cost.perEpoch && rest) cost.wastedPerEpoch = *cost.perEpoch * (1 - *rest);
  // Further than clocks of integer nanoseconds reach, nobody trains.
  const double time = epochs ? *epochs * epoch + (first > 0 ? first - epoch : 0) : 0;
  if (!epochs || *epochs <= 0 || time <= 0 || time > 1e9) return cost;
  cost.epochs = epochs;
  cost.time = fromSeconds(time);
  if (rest) cost.timeFixed = fromSeconds(time * *rest);
  if (cost.pricePerHour) cost.money = *cost.pricePerHour * time / 3600;
  if (cost.money && rest) cost.saved = *cost.money * (1 - *rest);
  return cost;
}

}  // namespace stallprof
