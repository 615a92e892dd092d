// SPDX-License-Identifier: MIT
#include "analysis/findings/rank.h"

#include <algorithm>
#include <string_view>

#include "analysis/findings/rules.h"
#include "analysis/findings/wording.h"

namespace stallprof {
namespace {

constexpr double kWorthIt = 1.05;                    // a fix below this is no fix (design: 5 %)
constexpr std::size_t kFewestSteps = 20;             // below: no verdict
constexpr double kMostUnexplained = 0.15;            // above: no verdict
constexpr double kWeights[] = {0.4, 0.7, 1.0, 1.0};  // low, medium, high, verified

std::string phaseName(const Finding& f) { return f.id.substr(0, f.id.find('.')); }

// A finding that lies inside another one's time, widest parent first.
const char* const kParents[][2] = {{"transform.in_process", "extract."},
                                   {"transform.in_process", "transform."},
                                   {"transform.cpu_saturated", "transform."},
                                   {"transform.too_few_workers", "transform."},
                                   {"transform.too_few_workers", "load.no_prefetch"},
                                   {"transform.cpu_saturated", "load.no_prefetch"},
                                   {"transform.stragglers", "load.no_prefetch"},
                                   {"extract.storage_bandwidth", "extract."},
                                   {"extract.random_access", "extract."},
                                   {"extract.small_files", "extract."},
                                   {"host.cpu_throttled", "compute.contention"},
                                   {"compute.launch_bound", "compute.python_overhead"}};

// A fix that may as well gain nothing is no sure one, whatever else is known.
void doubtWideOnes(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    if (!f.advice.empty() && f.advice[0].predicted.low && *f.advice[0].predicted.low <= 1)
      f.confidence = std::min(f.confidence, Confidence::kLow);
}

void nameParents(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    for (const auto& [parent, child] : kParents) {
      if (f.within || f.id == parent || !std::string_view(f.id).starts_with(child)) continue;
      for (const Finding& p : findings)
        if (p.id == parent && p.shareRatio >= f.shareRatio && p.within != Maybe<std::string>(f.id))
          f.within = p.id;
    }
}

void sayTies(std::vector<Finding>& findings) {
  if (findings.size() < 2) return;
  const double first = scoreOf(findings[0]);
  for (std::size_t i = 1; i < findings.size(); ++i)
    if (first > 0 && scoreOf(findings[i]) >= kTied * first)
      tell(findings[i], "a tie: its gain is within 10 % of rank 1's");
}

bool worthIt(const Finding& f) { return gainOf(f) >= 1 - 1 / kWorthIt - 1e-12; }

double unexplained(const Evidence& e) { return e.other + e.unknownWait; }

// The program says itself what most of its time was.
bool told(const Evidence& e) {
  const TrainerFacts& t = e.trainer;
  return t.toldSteps() && seconds(t.split.told) >= (1 - kMostUnexplained) * e.window;
}

bool pythonSeen(const Evidence& e) {
  if (told(e)) return true;
  return e.loader != nullptr &&
         (e.trainer.source == StepSource::kHook || e.trainer.source == StepSource::kMarks ||
          e.trainer.source == StepSource::kNvtx || e.trainer.source == StepSource::kOptimizer);
}

// Of inferred steps only what rules know of tells compute from the making of data: the program's
// own lines, and arrays, may be either.
bool computeTold(const Evidence& e) {
  const StackFacts& s = e.trainer.stacks;
  const double compute = s.step.seconds[static_cast<std::size_t>(Phase::kCompute)];
  return e.trainer.source != StepSource::kInferred ||
         s.stepTold >= (1 - kMostUnexplained) * compute;
}

bool silencedByOthers(const Evidence& e, const std::vector<Finding>& findings) {
  if (e.external <= 0.05 || findings.empty()) return false;
  // The neighbour is itself in the list; it is the first two of the job's own that compete.
  std::vector<double> gains;
  for (const Finding& f : findings)
    if (phaseName(f) != "host")
      gains.push_back(std::max(
          gainOf(f),
          f.id == "compute.cpu_bound" || f.id == "compute.device_bound" ? f.shareRatio : 0.0));
  if (gains.empty()) return true;
  const double margin = gains[0] - (gains.size() > 1 ? gains[1] : 0);
  return e.external > margin;
}

}  // namespace

double gainOf(const Finding& f) {
  for (const Advice& a : f.advice)
    if (a.predicted.speedup && *a.predicted.speedup > 0)
      return std::max(0.0, 1 - 1 / *a.predicted.speedup);
  return f.shareRatio;
}

double scoreOf(const Finding& f) {
  return gainOf(f) * kWeights[static_cast<std::size_t>(f.confidence)];
}

void rankFindings(std::vector<Finding>& findings) {
  doubtWideOnes(findings);
  // Two that one fix cures score alike: then the one that explains more of the time goes first.
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const double first = scoreOf(a), second = scoreOf(b);
    return first != second ? first > second : a.shareRatio > b.shareRatio;
  });
  nameParents(findings);
  for (std::size_t i = 0; i < findings.size(); ++i) findings[i].rank = static_cast<int>(i) + 1;
}

Verdict verdictOf(const Evidence& e, std::vector<Finding>& findings) {
  Verdict v;
  if (e.window > 0 && !e.trainer.steps.empty()) v.auRatio = e.compute;
  rankFindings(findings);
  const bool anyFix = std::any_of(findings.begin(), findings.end(), worthIt);
  const bool tooFew = e.trainer.steps.size() < kFewestSteps;
  // No rule knows how to mend a loader that is not PyTorch's: waiting for it is then no health.
  const bool untold = !e.loader && e.trainer.loader >= 0 && e.wait > 1 - 1 / kWorthIt;
  if (!anyFix && !untold && computeTold(e) && !e.trainer.steps.empty()) {
    findings.insert(findings.begin(), e.device.bound() ? deviceBound(e) : cpuBound(e));
    for (std::size_t i = 0; i < findings.size(); ++i) findings[i].rank = static_cast<int>(i) + 1;
  }
  if (anyFix) sayTies(findings);
  if (findings.empty() || tooFew || unexplained(e) > kMostUnexplained ||
      silencedByOthers(e, findings)) {
    for (Finding& f : findings)
      if (tooFew) f.confidence = Confidence::kLow;
    return v;
  }
  // Waiting that no rule explains is not health: say nothing rather than "all is well".
  if (!anyFix && e.steadyWait() > kMostUnexplained) {
    findings[0].confidence = Confidence::kLow;
    return v;
  }
  // Without a loader all of a step is booked as compute; a thread that was blocked for a part of it
  // may have waited for a queue of its own, or for a device: that is not known to be compute.
  if (!e.loader && !told(e) && !anyFix && !(e.device.timeline && e.device.bound()) &&
      e.trainerBlocked > kMostUnexplained)
    return v;
  // A model that misses the step time by more than 15 % misses something larger than this.
  if (e.loader && !e.gains.fits() && findings[0].shareRatio < kMostUnexplained) return v;
  v.confidence = findings[0].confidence;
  v.boundBy = phaseName(findings[0]);
  if (findings.size() > 1 && anyFix && phaseName(findings[1]) != v.boundBy &&
      gainOf(findings[1]) >= kTied * gainOf(findings[0]))
    v.boundBy = "mixed";
  if (pythonSeen(e)) v.healthy = !anyFix;
  return v;
}

}  // namespace stallprof
