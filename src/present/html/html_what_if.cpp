// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxFixRows = 16;
constexpr double kLongestBar = 5;  // of the pace now: a stage far above it would flatten the rest

Hue stageHue(const std::string& stage) {
  const Phase phase = phaseNamed(stage);
  return phase == Phase::kUnknown ? Hue::kSecond : hueOf(phase);
}

void ceilings(Html& html, const Analysis& a) {
  const std::size_t rows = std::min(a.ceilings.size(), kMaxFixRows);
  const double now = a.steps.ratePerSecond.value_or(0);
  double maximum = now;
  for (std::size_t i = 0; i < rows; ++i) maximum = std::max(maximum, a.ceilings[i].stepsPerSecond);
  if (now > 0) maximum = std::min(maximum, now * kLongestBar);
  const HtmlTable table(
      html, {textColumn("stage"), numberColumn("steps/s"), numberColumn("above now"), wideColumn(),
             textColumn("limited by"), textColumn("basis")});
  for (std::size_t i = 0; i < rows; ++i) {
    const Ceiling& c = a.ceilings[i];
    const std::string path = "ceilings." + std::to_string(i);
    const auto row = html.open("tr");
    rowHead(html, stageHue(c.stage), shortened(c.stage, 80));
    figureCell(html, path + ".steps_per_s", c.stepsPerSecond, numberText(c.stepsPerSecond));
    figureCell(html, path + ".gap_ratio", c.gapRatio, gapText(c));
    meterCell(html, "w wide", maximum > 0 ? c.stepsPerSecond / maximum : 0, stageHue(c.stage));
    html.add("td", shortened(c.limitedBy, 120));
    html.add("td", {{"class", "quiet"}}, shortened(c.basis, 80));
  }
}

std::string paceText(double now, const Prediction& predicted) {
  const std::string pace = numberText(now * shownSpeedup(predicted).value_or(1));
  return predicted.basis == Basis::kAssumed ? "up to " + pace : pace;
}

// Every change that could be predicted, alone: never one upon another.
void changes(Html& html, const Analysis& a) {
  const auto predicted = [](const Advice& advice) { return advice.predicted.speedup.has_value(); };
  const bool any = std::any_of(a.findings.begin(), a.findings.end(), [&](const Finding& f) {
    return std::any_of(f.advice.begin(), f.advice.end(), predicted);
  });
  if (!any) return;
  html.add("h3", {{"style", "margin-top:1.8rem"}}, "Each change alone");
  const HtmlTable table(html, {textColumn("finding"),
                               textColumn("change"),
                               numberColumn("as fast"),
                               {"steps/s", "r wide"}});
  std::size_t rows = 0;
  for (std::size_t f = 0; f < a.findings.size(); ++f)
    for (std::size_t i = 0; i < a.findings[f].advice.size(); ++i) {
      const Advice& advice = a.findings[f].advice[i];
      if (!predicted(advice) || rows++ >= kMaxFixRows) continue;
      const auto row = html.open("tr");
      html.add("td", std::to_string(a.findings[f].rank));
      html.add("td", shortened(advice.text, 700));
      cell(html, "r", [&] {
        gainFigure(html, a, a.findings[f], i);
        if (!advice.measured) return;
        html.empty("br");
        html.text("measured ");
        measuredFigure(html, a, a.findings[f], i);
      });
      html.add("td", {{"class", "r wide"}},
               a.steps.ratePerSecond ? paceText(*a.steps.ratePerSecond, advice.predicted)
                                     : kNotMeasuredText);
    }
}

}  // namespace

void whatIfSection(Html& html, const Analysis& a) {
  if (a.ceilings.empty()) return;
  const auto section = html.open("section", {{"id", "ceilings"}});
  html.add("h2", "What if");
  {
    const auto intro = html.open("p", {{"class", "intro"}});
    html.text("The pace that each stage alone would allow, computed from CPU time.");
    if (a.steps.ratePerSecond)
      html.text(" The run's own pace is " + rateText(*a.steps.ratePerSecond, "steps") + ".");
    if (std::any_of(a.ceilings.begin(), a.ceilings.end(), [&](const Ceiling& c) {
          return c.stepsPerSecond > a.steps.ratePerSecond.value_or(0) * kLongestBar;
        }))
      html.text(" The longest bars are five times that and more.");
  }
  ceilings(html, a);
  changes(html, a);
}

}  // namespace stallprof
