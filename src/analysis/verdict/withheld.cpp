// SPDX-License-Identifier: MIT
#include "analysis/verdict/withheld.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr double kHalfData = 0.50;               // above, and a fix of the rest alone: no verdict
constexpr double kLittleBeside = 0.10;           // of the window
constexpr double kLittleBesideNative = 1.0 / 3;  // of what computes

// Others use more of the CPU than the first two of the job's own causes differ by; of one alone,
// than its fix gains (its share, where that is assumed); where there is none, too little to be one.
bool silencedByOthers(const Evidence& e, const std::vector<Finding>& findings) {
  if (e.external <= 0.05 || findings.empty()) return false;
  const Finding* first = nullptr;
  for (const Finding& f : findings) {
    if (phaseName(f) == "host" || (first && nested(f, *first))) continue;
    if (first && rivals(f, *first)) return e.external > gainOf(*first) - gainOf(f);
    if (!first) first = &f;
  }
  if (!first) return isCaveat(findings[0], e.trainer.steps.empty());
  return e.external > (surelyFixed(*first) ? gainOf(*first) : first->shareRatio);
}

// Without steps: of a loop whose lines are known nearly all, and most of one phase, a smaller phase
// may be what most could be gained of, as in a run with steps. Evaluation in native code is known
// to be no step, by a rule or as nothing goes back in it.
bool clearInLoop(const Evidence& e, const Finding& first) {
  const bool known =
      !e.trainer.loopAt.none() || (e.trainer.native.seen && phaseName(first) == "periodic");
  return known && !e.phaseOfHalf().empty() && e.unexplained() <= kMaxUnexplained &&
         !isCaveat(first, true) && gainOf(first) > kLittleBeside;
}

// Making batches was waited for, and a replay of it says what a change gains, or workers wait for
// each other: only what making them was (a producer that sleeps, or waits for its own) is unknown.
bool unexplainedIsFixed(const Evidence& e, const std::vector<Finding>& findings) {
  return e.other <= kMaxUnexplained && !findings.empty() &&
         (surelyFixed(findings[0]) || e.locked() >= e.unknownWait) &&
         findings[0].shareRatio >= e.unknownWait && isOfData(findings[0].phase);
}

}  // namespace

double forData(const Evidence& e) {
  return e.device.timeline && e.device.bound() ? 0 : e.wait + e.ownLoad;
}

bool mostlyComputes(const Evidence& e, const std::vector<Finding>& findings) {
  const double little = e.trainer.native.seen ? kLittleBesideNative * e.compute : kLittleBeside;
  return e.trainer.steps.empty() && e.phaseOfHalf() == "compute" &&
         std::none_of(findings.begin(), findings.end(), [&](const Finding& f) {
           return worthIt(f) && phaseName(f) != "host" && (isOfRest(f) || gainOf(f) > little);
         });
}

Maybe<NoVerdict> withheld(const Evidence& e, const std::vector<Finding>& findings, bool anyFix) {
  using Why = NoVerdict::Why;
  const std::size_t steps = e.trainer.steps.size();
  // Much time for data that no one change shortens is not health: no verdict is better than "all is
  // well", or than what little takes.
  const NoVerdict noFix{Why::kNoFix, forData(e), 0}, unclear{Why::kUnclear, 0, 0};
  const bool unfixed = !anyFix && noFix.value > kMuchData;
  if (steps == 0) {  // no model of a step: what is most of the time decides, or nothing does
    const bool clear = !findings.empty() &&
                       (phaseName(findings[0]) == e.phaseOfHalf() || clearInLoop(e, findings[0]));
    if (!clear) return NoVerdict{};
    if (silencedByOthers(e, findings)) return NoVerdict{Why::kOthersCpu, e.external, 0};
    return unfixed ? Maybe<NoVerdict>(noFix) : std::nullopt;
  }
  if (steps < kMinSteps) return NoVerdict{Why::kFewSteps, static_cast<double>(steps), kMinSteps};
  if (auto few = fewSamples(e)) return few;
  if (e.unexplained() > kMaxUnexplained && !unexplainedIsFixed(e, findings))
    return NoVerdict{Why::kUnexplained, e.unexplained(), kMaxUnexplained};
  if (silencedByOthers(e, findings)) return NoVerdict{Why::kOthersCpu, e.external, 0};
  const bool ofRest = std::all_of(findings.begin(), findings.end(), isOfRest);
  if (unfixed || (ofRest && noFix.value > kHalfData)) return noFix;
  if (findings.empty() || isCaveat(findings[0], false)) return unclear;
  if (auto blind = blindStep(e); blind && !anyFix) return blind;
  // A model that misses the step time by more than 15 % misses something larger than this.
  if (e.loader && !e.gains.fits() && findings[0].shareRatio < kMaxUnexplained) return unclear;
  return {};
}

bool answeredByTrial(const Finding& first, const NoVerdict& withheld) {
  using Why = NoVerdict::Why;
  if (first.confidence != Confidence::kVerified || *first.advice[0].measured < kWorthIt)
    return false;
  return withheld.why == Why::kOthersCpu || (withheld.why == Why::kNoFix && !isOfRest(first)) ||
         (withheld.why == Why::kUnexplained && gainOf(first) >= withheld.value);
}

}  // namespace stallprof
