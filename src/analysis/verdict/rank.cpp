// SPDX-License-Identifier: MIT
#include "analysis/verdict/rank.h"

#include <algorithm>
#include <string_view>

#include "analysis/findings/build.h"
#include "analysis/verdict/registry.h"
#include "analysis/verdict/withheld.h"

namespace stallprof {
namespace {

constexpr double kOthersCount = 0.25;                // of the window: below it is a caveat
constexpr double kWeights[] = {0.4, 0.7, 1.0, 1.0};  // low, medium, high, verified

// Of an advice: as a trial measured it, where one did. What was measured is known without its
// interval, too. Trials that decided nothing leave what was predicted, as far as they allow it.
Prediction gainKnown(const Advice& a) {
  if (failedWhenTried(a)) return {};
  if (decided(a)) return {a.measured, {}, {}, Basis::kReplayed, {}};
  Prediction p = a.predicted;
  for (Maybe<double>* gain : {&p.speedup, &p.low, &p.high})
    if (*gain && a.measuredHigh) *gain = std::min(**gain, *a.measuredHigh);
  return p;
}

Maybe<Prediction> firstPrediction(const Finding& f) {
  for (const Advice& a : f.advice)
    if (const Prediction p = gainKnown(a); p.speedup && *p.speedup > 0) return p;
  return {};
}

// As the id has it.
std::string kindOf(const Finding& f) { return f.id.substr(0, f.id.find('.')); }
// A fix that may as well gain nothing is no sure one, whatever else is known. What is assumed of a
// fix says nothing of the cause: its share was measured.
void capUncertainConfidence(std::vector<Finding>& findings) {
  for (Finding& f : findings) {
    if (f.advice.empty()) continue;
    const Prediction& p = f.advice[0].predicted;
    if (p.basis == Basis::kReplayed && p.low && *p.low <= 1)
      f.confidence = std::min(f.confidence, Confidence::kLow);
  }
}

// The first of the findings that `f` may lie within which fired, and has at least its share.
Maybe<std::string> parentOf(const Finding& f, const std::vector<Finding>& findings) {
  const FindingDefinition* definition = findingDefinition(f.id);
  if (!definition) return {};
  for (const std::string_view parent : definition->within)
    for (const Finding& p : findings)
      if (p.id == parent && p.shareRatio >= f.shareRatio && p.within != Maybe<std::string>(f.id))
        return p.id;
  return {};
}

void numberRanks(std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < findings.size(); ++i) findings[i].rank = static_cast<int>(i) + 1;
}

void putCaveatsLast(std::vector<Finding>& findings, bool stepless) {
  std::stable_partition(findings.begin(), findings.end(),
                        [&](const Finding& f) { return !isCaveat(f, stepless); });
  numberRanks(findings);
}

// One change cures both.
bool sameFix(const Finding& a, const Finding& b) {
  if (a.advice.empty() || b.advice.empty()) return false;
  const Advice &first = a.advice[0], &second = b.advice[0];
  return sameChange(first, second) && first.predicted.speedup == second.predicted.speedup;
}

bool mayLieWithin(const Finding& f, const Finding& parent) {
  const FindingDefinition* definition = findingDefinition(f.id);
  return definition && std::find(definition->within.begin(), definition->within.end(), parent.id) !=
                           definition->within.end();
}

// Of two phases, and the change that cures `parent` cures `f`, which may lie within it: one cause,
// said twice.
bool causeOf(const Finding& f, const Finding& parent) {
  return kindOf(f) != kindOf(parent) && mayLieWithin(f, parent) && sameFix(f, parent);
}
bool oneCause(const Finding& a, const Finding& b) { return causeOf(a, b) || causeOf(b, a); }
// That, or two of one phase with the same change: no tie between them would be a choice.
bool oneChange(const Finding& a, const Finding& b) {
  return oneCause(a, b) || (phaseName(a) == phaseName(b) && sameFix(a, b));
}

// Ranks of the findings whose score is within 10 % of the first's, it included; empty: only it.
std::vector<int> tiedRanks(const std::vector<Finding>& findings, bool stepless) {
  std::vector<int> tied;
  const double first = findings.empty() ? 0 : scoreOf(findings[0]);
  if (first <= 0) return tied;
  for (const Finding& f : findings)
    if (&f == &findings[0] || (!isCaveat(f, stepless) && rivals(f, findings[0]) &&
                               scoreOf(f) >= kTied * first && !oneChange(f, findings[0])))
      tied.push_back(f.rank);
  return tied.size() > 1 ? tied : std::vector<int>{};
}

void noteTies(std::vector<Finding>& findings, bool stepless) {
  constexpr std::string_view kTie = "a tie: its gain is within 10 % of rank 1's";
  for (Finding& f : findings)  // from an earlier ranking
    std::erase_if(f.evidence, [&](const EvidenceItem& item) { return item.text == kTie; });
  for (const int rank : tiedRanks(findings, stepless))
    if (rank > 1) addEvidence(findings[static_cast<std::size_t>(rank) - 1], kTie);
}

// It takes more of the time, and one of its fixes may gain more.
bool mayGainMore(const Finding& f, const Finding& first) {
  return kTied * f.shareRatio > first.shareRatio &&
         std::any_of(f.advice.begin(), f.advice.end(), [&](const Advice& a) {
           const Prediction p = gainKnown(a);
           return p.speedup && *p.speedup > 0 &&
                  1 - 1 / p.high.value_or(*p.speedup) > gainOf(first);
         });
}

bool competes(const Finding& f, bool stepless) {
  return f.rank > 1 && f.confidence > Confidence::kLow && !isCaveat(f, stepless);
}

// What goes first only because it is surer is no surer than another that would gain more.
void capByLargerGain(std::vector<Finding>& findings, bool stepless) {
  for (const Finding& f : findings)
    if (competes(f, stepless) && rivals(f, findings[0]) && !nested(f, findings[0]) &&
        kTied * gainOf(f) > gainOf(findings[0]))
      findings[0].confidence = std::min(findings[0].confidence, f.confidence);
}

// Of the verdict: that the first finding is the first, and its phase. That is not known among tied
// ones, nor where another may gain more, but for what trials measured.
Confidence certainty(const std::vector<Finding>& findings, const std::vector<int>& tied,
                     bool stepless) {
  const Finding& first = findings[0];
  if (first.confidence == Confidence::kVerified) return first.confidence;
  const auto open = [&](const Finding& f) {
    if (!competes(f, stepless)) return false;
    if (mayGainMore(f, first) && !nested(f, first)) return true;
    if (!rivals(f, first)) return false;
    const bool samePart = nested(f, first) && phaseName(f) == phaseName(first);
    return !samePart && std::find(tied.begin(), tied.end(), f.rank) != tied.end();
  };
  return std::any_of(findings.begin(), findings.end(), open)
             ? std::min(first.confidence, Confidence::kMedium)
             : first.confidence;
}

}  // namespace

double gainOf(const Finding& f) {
  const Maybe<Prediction> p = firstPrediction(f);
  if (!p && !f.advice.empty() && failedWhenTried(f.advice[0])) return 0;  // behind all others
  return p ? std::max(0.0, 1 - 1 / *p->speedup) : f.shareRatio;
}

double scoreOf(const Finding& f) {
  return gainOf(f) * kWeights[static_cast<std::size_t>(f.confidence)];
}

bool surelyFixed(const Finding& f) {
  const Maybe<Prediction> p = firstPrediction(f);
  return p && replayedFix(*p);
}

std::string phaseName(const Finding& f) {
  const std::string kind = kindOf(f);
  return phaseNamed(kind) == Phase::kUnknown ? kind : std::string(nameOf(f.phase));
}

bool isCaveat(const Finding& f, bool stepless) {
  const FindingDefinition* definition = findingDefinition(f.id);
  return definition && definition->byOthers && (f.shareRatio < kOthersCount || stepless);
}

bool rivals(const Finding& a, const Finding& b) { return surelyFixed(a) == surelyFixed(b); }

bool nested(const Finding& a, const Finding& b) { return a.within == b.id || b.within == a.id; }
bool worthIt(const Finding& f) { return gainOf(f) >= 1 - 1 / kWorthIt - 1e-12; }
bool isOfRest(const Finding& f) { return phaseName(f) == "compute" || phaseName(f) == "periodic"; }

namespace {

// What most of the first finding's time is goes before it where the same change cures it, or its
// own gains about as much: "reading small files" says more than "batches are made in the training
// process".
void putCauseFirst(std::vector<Finding>& findings) {
  if (!findings.empty() && isCaveat(findings[0], false)) return;
  const auto cause = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) {
    const Finding& first = findings[0];
    return kindOf(f) != kindOf(first) && mayLieWithin(f, first) &&
           f.shareRatio >= first.shareRatio / 2 &&
           (sameFix(f, first) || (rivals(f, first) && scoreOf(f) >= kTied * scoreOf(first)));
  });
  if (cause != findings.end()) std::rotate(findings.begin(), cause, cause + 1);
}

void sortFindings(std::vector<Finding>& findings) {
  // Two that one fix cures score alike: then the one that explains more of the time goes first.
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (!rivals(a, b)) return surelyFixed(a);
    const double first = scoreOf(a), second = scoreOf(b);
    return first != second ? first > second : a.shareRatio > b.shareRatio;
  });
  putCauseFirst(findings);
  for (Finding& f : findings) f.within = parentOf(f, findings);
  numberRanks(findings);
}

// The phase of rank 1, unless another's gain is as large, no guess beside it, and no part of it.
std::string boundBy(const std::vector<Finding>& findings, bool anyFix, bool stepless) {
  const Finding &a = findings.front(), &b = findings[findings.size() > 1 ? 1 : 0];
  const bool mixed = anyFix && phaseName(b) != phaseName(a) && !isCaveat(b, stepless) &&
                     rivals(a, b) && !oneCause(a, b) && !nested(a, b) &&
                     gainOf(b) >= kTied * gainOf(a) &&
                     b.confidence >= std::min(a.confidence, Confidence::kMedium);
  return mixed ? "mixed" : phaseName(a);
}

// What makes a loader's batches on a CPU transforms, unless stacks say that it reads: with few
// samples of it nothing does. What the loop itself makes is known by samples.
bool phaseByDefault(const Evidence& e, const Finding& first) {
  return first.phase == Phase::kTransform && !e.trainer.withoutFetches() && !annotated(e) &&
         e.trainer.stacks.makingRunning.all.samples < kEnoughWorkerSamples && e.inLoop == 0;
}

}  // namespace

void rankFindings(std::vector<Finding>& findings) {
  capUncertainConfidence(findings);
  sortFindings(findings);
}

void rankVerified(std::vector<Finding>& findings, Verdict& verdict) {
  const auto order = [](const Advice& a) {
    if (failedWhenTried(a)) return 2;
    return !decided(a) ? 1 : *a.measured >= kWorthIt ? 0 : 2;
  };
  for (Finding& f : findings)
    std::stable_sort(f.advice.begin(), f.advice.end(), [&](const Advice& a, const Advice& b) {
      return order(a) != order(b) ? order(a) < order(b)
                                  : order(a) == 0 && *a.measured > *b.measured;
    });
  // A finding whose first fix has not been tried is no surer than before.
  for (Finding& f : findings)
    if (!f.advice.empty() && decided(f.advice[0])) f.confidence = Confidence::kVerified;
  // What ranks first in a healthy run is no fix.
  if (findings.empty() || verdict.healthy.value_or(false)) return;
  sortFindings(findings);
  putCaveatsLast(findings, false);  // what is tried has steps
  noteTies(findings, false);
  verdict.tied = tiedRanks(findings, false);
  if (verdict.withheld && answeredByTrial(findings[0], *verdict.withheld)) {
    verdict.withheld.reset();
    verdict.healthy = false;
  }
  if (verdict.withheld) return;
  verdict.boundBy = boundBy(findings, worthIt(findings[0]), false);
  const Confidence before = verdict.confidence;
  verdict.confidence = certainty(findings, verdict.tied, false);
  if (findings[0].confidence != Confidence::kVerified)
    verdict.confidence = std::min(verdict.confidence, before);
}

Verdict verdictOf(const Evidence& e, std::vector<Finding>& findings) {
  Verdict v;
  if (e.window > 0 && !e.trainer.steps.empty()) v.auRatio = e.compute;
  v.computesHalf = e.compute >= 0.5;
  rankFindings(findings);
  const bool stepless = e.trainer.steps.empty();
  putCaveatsLast(findings, stepless);
  const bool anyFix = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return worthIt(f) && !isCaveat(f, stepless);
  });
  const bool little = (!anyFix && forData(e) <= kMuchData) || mostlyComputes(e, findings);
  if (Maybe<Finding> healthy = little ? healthyFinding(e) : std::nullopt) {
    findings.insert(findings.begin(), *std::move(healthy));
    numberRanks(findings);
  }
  if (anyFix) {
    noteTies(findings, stepless);
    capByLargerGain(findings, stepless);
  }
  // What is not most of the time may be what the program is about.
  if (stepless && !findings.empty() && phaseName(findings[0]) != e.phaseOfHalf())
    for (Finding& f : findings) f.confidence = Confidence::kLow;
  v.withheld = withheld(e, findings, anyFix);
  if (v.withheld) {
    if (e.trainer.steps.size() < kMinSteps || v.withheld->why == NoVerdict::Why::kFewSamples)
      for (Finding& f : findings) f.confidence = Confidence::kLow;
    else if (v.withheld->why == NoVerdict::Why::kNoFix && !findings.empty())
      findings[0].confidence = Confidence::kLow;
    v.tied = tiedRanks(findings, stepless);
    return v;
  }
  v.tied = tiedRanks(findings, stepless);
  v.boundBy = boundBy(findings, anyFix, stepless);
  v.confidence = certainty(findings, v.tied, stepless);
  if (e.unexplained() > kMaxUnexplained || phaseByDefault(e, findings[0]))
    v.confidence = std::min(v.confidence, Confidence::kMedium);
  if (pythonSeen(e)) v.healthy = !anyFix;
  return v;
}

}  // namespace stallprof
