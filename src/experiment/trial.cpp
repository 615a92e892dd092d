// SPDX-License-Identifier: MIT
#include "experiment/trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "advise/outside.h"
#include "analysis/model/gains.h"
#include "analysis/verdict/rank.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "gate/rank_test.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr double kOtherPace = 0.15;  // beyond it no model fits the run, either (model/gains.cpp)

}  // namespace

std::string whyTooLong(const Analysis& analysis) {
  const StepsInfo& steps = analysis.steps;
  const bool counted = steps.optimizerSteps > 0 || steps.source == Maybe<std::string>("hook");
  if (counted || analysis.run.wall <= kLongestWhole) return "";
  return "the hook sees no step of this program, and ends none of its runs: each would take as "
         "long as the recorded one, " +
         durationText(analysis.run.wall) + "; give a shorter command after --";
}

std::vector<Trial> trialsOf(const Analysis& analysis, std::size_t maximum,
                            const std::string& onlyAdvice) {
  std::vector<Trial> trials;
  for (const Finding& f : analysis.findings)
    for (const Advice& advice : f.advice) {
      if (!onlyAdvice.empty() && advice.id != onlyAdvice) continue;
      Trial trial;
      trial.finding = f.id;
      trial.advice = advice.id;
      trial.options = outsideOptions(analysis, f, advice);
      trial.predicted = advice.predicted;
      const bool known = std::any_of(trials.begin(), trials.end(), [&](const Trial& other) {
        return other.options == trial.options;
      });
      if (!trial.options.empty() && !known) trials.push_back(std::move(trial));
    }
  const auto worth = [](const Trial& t) { return t.predicted.speedup.value_or(0); };
  std::stable_sort(trials.begin(), trials.end(), [&](const Trial& a, const Trial& b) {
    const bool first = a.predicted.basis == Basis::kReplayed && worth(a) > 0,
               second = b.predicted.basis == Basis::kReplayed && worth(b) > 0;
    return first != second ? first : worth(a) > worth(b);
  });
  if (trials.size() > maximum) trials.resize(maximum);
  return trials;
}

void judgeTrial(Trial& trial, double alpha) {
  if (trial.verdict == TrialVerdict::kFailed) return;
  trial.verdict = TrialVerdict::kUndecided;
  if (trial.base.empty() || trial.fix.empty()) return;
  trial.speedup = median(trial.base) / median(trial.fix);
  const auto test = rankTest(logarithms(trial.base), logarithms(trial.fix), alpha);
  if (!test) return;
  trial.speedup = std::exp(-test->size);
  trial.low = std::exp(-test->high);
  trial.high = std::exp(-test->low);
  if (test->better < alpha && *trial.speedup >= kWorthTrying)
    trial.verdict = TrialVerdict::kGain;
  else if (test->worse < alpha && *trial.speedup <= 1 / kWorthTrying)
    trial.verdict = TrialVerdict::kSlower;
  else if (*trial.high < kWorthTrying)
    trial.verdict = TrialVerdict::kNoGain;
}

void leaveUndecided(Trial& trial, const std::string& why) {
  trial.why = why;
  if (!trial.speedup && !trial.base.empty() && !trial.fix.empty())
    trial.speedup = median(trial.base) / median(trial.fix);
}

Maybe<StepSeconds> stepSeconds(const Analysis& a) {
  if (!a.steps.ratePerSecond || *a.steps.ratePerSecond <= 0) return {};
  const double step = 1 / *a.steps.ratePerSecond;
  const double part = a.breakdown.ratio ? std::clamp(a.breakdown.ratio->periodic, 0.0, 1.0) : 0;
  return StepSeconds{step * (1 - part), step * part};
}

bool representsPeriodicWork(const StepSeconds& run, double recordedPeriodic,
                            std::size_t evaluations) {
  constexpr std::size_t kMany = 10;  // one more or less is a tenth of it
  constexpr double kAlike = 1.25;
  return evaluations >= kMany && run.periodic > 0 && recordedPeriodic > 0 &&
         std::abs(std::log(run.periodic / recordedPeriodic)) < std::log(kAlike);
}

std::string otherHost(const RunInfo& recorded, const RunInfo& here) {
  const auto differ = [](const std::string& what, const std::string& was, const std::string& is) {
    return was.empty() || is.empty() || was == is
               ? std::string()
               : what + " was " + inQuotes(was) + ", and is " + inQuotes(is);
  };
  // By name: how many are seen, and in which order, may differ from run to run.
  const auto gpus = [](const RunInfo& run, std::string none) {
    const std::string names = joined(std::set(run.host.gpus.begin(), run.host.gpus.end()), ", ");
    return names.empty() ? none : names;
  };
  std::string why = differ("the CPU", recorded.host.cpuModel, here.host.cpuModel);
  if (why.empty()) why = differ("the GPU", gpus(recorded, ""), gpus(here, "none"));
  if (why.empty())
    why = differ("the framework", recorded.framework.value_or(""), here.framework.value_or(""));
  constexpr double kSame = 0.1;  // of the cores: a quota's may be measured
  const double was = recorded.host.coresUsable, is = here.host.coresUsable;
  if (why.empty() && was > 0 && is > 0 && std::abs(was - is) > kSame * was)
    why = "there were " + numberOf(was, "usable core") + ", and are " + numberText(is);
  return why;
}

std::string otherPace(const Trials& trials, const Analysis& recorded) {
  const std::vector<double>* runs = trials.baseRuns();
  const Maybe<double> rate = recorded.steps.ratePerSecond;
  if (runs == nullptr || !rate || *rate <= 0) return "";
  const double pace = 1 / median(*runs);
  if (std::abs(std::log(pace / *rate)) <= std::log1p(kOtherPace)) return "";
  return "The unchanged program made " + rateText(pace, "steps") + " in the trials and " +
         rateText(*rate, "steps") +
         " in the recording: the program, its data or the load of the host has changed. Measured "
         "gains are of the trials' pace, and may not be those of the recorded run.";
}

Maybe<std::vector<std::string>> loaderOptions(const Analysis& a) {
  // The loader of a finding is the one that the steps are of, but for an evaluation's.
  for (const Finding& f : a.findings) {
    const LoaderInfo* loader = loaderAt(a, f.where);
    const bool others = f.phase == Phase::kPeriodic && a.run.loaders.size() > 1;
    if (loader != nullptr && !others && takesSettings(*loader)) return loaderPlace(a, *loader);
  }
  return {};
}

namespace {

// Measured ceilings take the place of the model's, of the same stage.
void addCeiling(Analysis& a, const char* stage, double step, double base, std::string limitedBy) {
  std::erase_if(a.ceilings, [&](const Ceiling& c) { return c.stage == stage; });
  a.ceilings.push_back({stage, 1 / step, base / step - 1, std::move(limitedBy), "measured"});
  std::stable_sort(a.ceilings.begin(), a.ceilings.end(), [](const Ceiling& x, const Ceiling& y) {
    return x.stepsPerSecond < y.stepsPerSecond;
  });
}

void addCeilings(const Trials& trials, double base, Analysis& a) {
  if (trials.drainStep) {
    const bool reads =
        a.breakdown.blame && a.breakdown.blame->extract > a.breakdown.blame->transform;
    addCeiling(a, reads ? "extract" : "transform", *trials.drainStep, base, "the loader alone");
  }
  if (trials.replayStep) addCeiling(a, "compute", *trials.replayStep, base, "data always ready");
  // Runs differ: a ceiling a little below the pace is the pace, one far below it is none.
  for (const Ceiling& c : takeMisfits(a.ceilings, base))
    a.notMeasured.push_back("the " + c.stage + " ceiling (by a run of its own it would be " +
                            percentText(-c.gapRatio) + " below the pace)");
}

void applyCeilings(const Trials& trials, Analysis& a) {
  const std::vector<double>* runs = trials.baseRuns();
  if (runs == nullptr || !otherPace(trials, a).empty()) return;
  const double base = median(*runs);
  addCeilings(trials, base, a);
  if (!trials.replayStep) return;
  a.verdict.stallRatio = std::max(0.0, 1 - *trials.replayStep / base);
  std::erase_if(a.notMeasured, [](const auto& line) { return line.starts_with("stall ratio"); });
}

void addMeasured(const Trial& trial, Advice& advice) {
  advice.measured = trial.speedup;
  advice.measuredLow = trial.low;
  advice.measuredHigh = trial.high;
  advice.outcome = std::string(nameOf(trial.verdict));
}

// Puts what was measured beside every advice that makes the same change: it is true of each.
bool applyTrial(const Trial& trial, Analysis& analysis) {
  const bool failed = trial.verdict == TrialVerdict::kFailed;
  if (!trial.speedup && !failed) return false;
  bool any = false;
  for (Finding& f : analysis.findings)
    for (Advice& advice : f.advice) {
      // By what was run: the same advice of another report may be another number of workers.
      if (trial.options.empty() || outsideOptions(analysis, f, advice) != trial.options) continue;
      if (!failed)
        addMeasured(trial, advice);
      else if (!advice.measured)
        advice.outcome = std::string(nameOf(trial.verdict));
      any = true;
    }
  return any;
}

}  // namespace

void applyTrials(const Trials& trials, Analysis& analysis) {
  bool any = false;
  if (trials.tuned) {
    analysis.tuned = trials.tuned->found;
    any = applyTrial(trials.tuned->trial, analysis);
  }
  for (const Trial& trial : trials.trials) any = applyTrial(trial, analysis) || any;
  applyCeilings(trials, analysis);
  if (any) rankVerified(analysis.findings, analysis.verdict);
}

const std::vector<double>* Trials::baseRuns() const {
  const std::vector<double>* ofTuned =
      tuned && !tuned->trial.base.empty() ? &tuned->trial.base : nullptr;
  if (tunedLast && ofTuned) return ofTuned;
  const auto newest = std::find_if(trials.rbegin(), trials.rend(),
                                   [](const Trial& trial) { return !trial.base.empty(); });
  return newest != trials.rend() ? &newest->base : ofTuned;
}

void settle(TunedTrial& tuned) {
  const Trial& trial = tuned.trial;
  tuned.found.measured = trial.speedup;
  tuned.found.low = trial.low;
  tuned.found.high = trial.high;
  tuned.found.moreBytes = trial.moreBytes;
  tuned.found.outcome = std::string(nameOf(trial.verdict));
}

std::string outcomeText(const Trial& trial) {
  if (trial.verdict == TrialVerdict::kFailed) return "failed: " + trial.why;
  if (!trial.speedup) return "not measured" + (trial.why.empty() ? "" : ": " + trial.why);
  Advice advice;
  addMeasured(trial, advice);
  return measuredText(advice) +
         fmt::format(", {} and {} runs", trial.base.size(), trial.fix.size()) +
         (trial.why.empty() ? "" : "; " + trial.why);
}

}  // namespace stallprof
