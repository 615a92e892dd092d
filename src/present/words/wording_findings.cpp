// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

// Below this predicted gain a finding is named but not unfolded.
constexpr double kMinorGain = 1.03;
constexpr double kMinorShare = 0.03;  // the same, where no gain could be predicted
// One of so much of the time is unfolded, whatever it gains on this host.
constexpr double kLargeShare = 0.25;

constexpr const char* kNoGainText = "not predicted";

std::string times(double v) {
  return v < 10 ? fmt::format("{:.2f}x", v) : fmt::format("{:.1f}x", v);
}
bool usable(const Maybe<double>& v) { return v && std::isfinite(*v) && *v < 1e4; }

bool tried(const Finding& f) {
  return std::any_of(f.advice.begin(), f.advice.end(),
                     [](const Advice& advice) { return usable(advice.measured); });
}

// Its trials say that it gains nothing: what was predicted of it counts no more.
bool refuted(const Advice& advice) {
  return failedWhenTried(advice) || (decided(advice) && advice.outcome != "gain");
}

std::string rankOf(const Analysis& a, const std::string& id) {
  for (const Finding& f : a.findings)
    if (f.id == id) return std::to_string(f.rank);
  return id;
}

}  // namespace

Maybe<double> shownSpeedup(const Prediction& predicted) {
  const bool assumed = predicted.basis == Basis::kAssumed && usable(predicted.high);
  return assumed ? predicted.high : predicted.speedup;
}

std::string gainText(const Prediction& predicted) {
  if (predicted.basis == Basis::kAssumed) {
    const Maybe<double> shown = shownSpeedup(predicted);
    return usable(shown) ? "up to " + times(*shown) : std::string(kNoGainText);
  }
  if (usable(predicted.low) && usable(predicted.high)) {
    const std::string low = times(*predicted.low), high = times(*predicted.high);
    return low == high ? low : low + " - " + high;
  }
  return usable(predicted.speedup) ? times(*predicted.speedup) : std::string(kNoGainText);
}

std::string gainAndBasis(const Prediction& predicted) {
  std::string gain = gainText(predicted);
  if (gain == kNoGainText || predicted.assumes.empty()) return gain;
  if (usable(predicted.speedup) && "up to " + times(*predicted.speedup) != gain)
    gain += ", " + times(*predicted.speedup) + " likely";
  return gain + ", if " + predicted.assumes;
}

std::string predictedText(const Prediction& predicted) {
  const std::string gain = gainAndBasis(predicted);
  return gain == kNoGainText ? gain : "predicted " + gain;
}

std::string measuredText(const Advice& advice) {
  if (!usable(advice.measured)) return {};
  std::string text = times(*advice.measured);
  if (usable(advice.measuredLow) && usable(advice.measuredHigh))
    text += " (" + times(*advice.measuredLow) + " - " + times(*advice.measuredHigh) + ")";
  if (advice.outcome == "no_gain") return "no gain: " + text;
  if (advice.outcome == "slower") return "slower: " + text;
  return advice.outcome == "undecided" ? "not decided: " + text : text;
}

bool anyMeasured(const Analysis& a) {
  return std::any_of(a.findings.begin(), a.findings.end(), tried);
}

std::string fixText(const Finding& finding) {
  if (!finding.advice.empty() && decided(finding.advice[0])) {
    const Advice& first = finding.advice[0];
    const std::string predicted = " (" + predictedText(first.predicted) + ").";
    if (refuted(first)) return "Its fix was tried, " + measuredText(first) + predicted;
    return "Fixing it made the run " + measuredText(first) + " as fast when it was tried" +
           predicted;
  }
  const Prediction predicted = predictionOf(finding);
  const std::string gain = gainText(predicted);
  if (gain == kNoGainText && !finding.advice.empty() && failedWhenTried(finding.advice[0]))
    return "Its fix was tried and failed (" + predictedText(finding.advice[0].predicted) + ").";
  if (gain == kNoGainText) return {};
  const bool mayLose = usable(predicted.low) && *predicted.low < 1;
  if (predicted.basis == Basis::kReplayed && mayLose)
    return "Its fix may gain nothing: the run is predicted to become " + gain + " as fast.";
  if (predicted.basis == Basis::kReplayed)
    return "Fixing it is predicted to make the run " + gain + " as fast.";
  return "Fixing it could make the run " + gain + " as fast" +
         (predicted.assumes.empty() ? "." : ", assuming that " + predicted.assumes + ".");
}

const Advice* predictedAdvice(const Finding& finding) {
  for (const Advice& advice : finding.advice)
    if (advice.predicted.speedup && !refuted(advice)) return &advice;
  return nullptr;
}

Prediction predictionOf(const Finding& finding) {
  const Advice* advice = predictedAdvice(finding);
  return advice == nullptr ? Prediction{} : advice->predicted;
}

std::vector<FindingRow> findingRows(const Analysis& a) {
  std::vector<FindingRow> rows;
  for (const Finding& f : a.findings) {
    FindingRow row{&f, percentText(f.shareRatio), "", std::string(nameOf(f.confidence)), false};
    if (f.within) row.share += " (in " + rankOf(a, *f.within) + ")";
    const Prediction best = predictionOf(f);
    row.gain = gainText(best);
    row.minor = best.speedup ? *best.speedup < kMinorGain && f.shareRatio < kLargeShare
                             : f.shareRatio < kMinorShare;
    // What was tried is always shown, and by its measurement where that decided on the first
    // advice.
    if (!f.advice.empty() && decided(f.advice[0]) && usable(f.advice[0].measured))
      row.gain = times(*f.advice[0].measured) + " measured";
    row.minor = row.minor && !tried(f);
    // The answer of a healthy run is not a thing to fix: it has no gain and is always shown.
    if (a.verdict.healthy.value_or(false) && f.rank == 1) {
      row.minor = false;
      if (!best.speedup) row.gain = "-";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string tieText(const Analysis& a) {
  std::string tied;
  for (const int rank : a.verdict.tied)
    tied += (tied.empty() ? "" : " and ") + std::to_string(rank);
  return tied.empty() ? ""
                      : tied + " are tied: their gains, weighted by confidence, are within 10 %";
}

std::string adviceText(const Advice& advice) {
  std::string text = advice.text;
  const std::string gain = gainAndBasis(advice.predicted);
  const std::string measured = measuredText(advice);
  if (!measured.empty())
    return text + "   [" + predictedText(advice.predicted) + ", measured " + measured + "]";
  if (failedWhenTried(advice)) return text + "   [failed when it was tried]";
  if (gain != kNoGainText) text += "   [" + gain + "]";
  return text;
}

}  // namespace stallprof
