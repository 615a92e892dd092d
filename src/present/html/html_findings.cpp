// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

// What a page can be read of; the JSON report has all.
constexpr std::size_t kMaxUnfolded = 8, kMaxFolded = 40, kMaxEvidence = 8, kMaxAdvice = 4;
constexpr std::size_t kLongestText = 700, kLongestCode = 2000;

std::string pathOf(const Finding& f, const char* field, const Analysis& a) {
  const auto at = static_cast<std::size_t>(&f - a.findings.data());
  return "findings." + std::to_string(at) + "." + field;
}

// In a drawing of 200 by 16.
void intervalDrawing(Html& html, const std::string& title, const char* hue, double low,
                     double middle, double high) {
  const auto svg = html.open(
      "svg", {{"viewBox", "0 0 200 16"}, {"role", "img"}, {"preserveAspectRatio", "none"}});
  html.add("title", title);
  html.empty("line", {{"class", "grid"}, {"x1", "0"}, {"x2", "200"}, {"y1", "8"}, {"y2", "8"}});
  for (const char* end : {"0.5", "199.5"})
    html.empty("line", {{"class", "range"}, {"x1", end}, {"x2", end}, {"y1", "3"}, {"y2", "13"}});
  html.empty("rect", {{"class", hue},
                      {"x", drawn(low)},
                      {"y", "5"},
                      {"width", drawn(std::max(high - low, 1.5))},
                      {"height", "6"},
                      {"rx", "1"}});
  html.empty("rect", {{"class", "fill"},
                      {"style", "--c:var(--ink)"},
                      {"x", drawn(middle - 0.75)},
                      {"y", "2"},
                      {"width", "1.5"},
                      {"height", "12"}});
}

// An interval on an axis from 1x, no gain, to `maximum`; false: there is none.
bool interval(Html& html, const std::string& what, const char* hue, const Prediction& p,
              double maximum) {
  if (!p.low || !p.high || !p.speedup || !(maximum > 1)) return false;
  const auto place = [&](double speedup) {
    return std::clamp((speedup - 1) / (maximum - 1), 0.0, 1.0) * 200;
  };
  intervalDrawing(html, what + gainText(p) + ", on a scale from 1x to " + numberText(maximum) + "x",
                  hue, place(*p.low), place(*p.speedup), place(*p.high));
  return true;
}

void axisEnds(Html& html, double maximum) {
  const auto ends = html.open("div", {{"class", "ends"}, {"aria-hidden", "true"}});
  html.add("span", "1x");
  html.add("span", numberText(maximum) + "x");
}

// The advice whose gain stands beside the finding: the first where trials decided on it, or else
// the first that could be predicted.
const Advice& drawnAdvice(const Finding& f) {
  static const Advice kNone;
  if (!f.advice.empty() && decided(f.advice[0])) return f.advice[0];
  const Advice* predicted = predictedAdvice(f);
  return predicted == nullptr ? kNone : *predicted;
}

// What its trials measured, to be drawn as a prediction is.
Prediction measuredOf(const Advice& advice) {
  return {advice.measured, advice.measuredLow, advice.measuredHigh, Basis::kReplayed, {}};
}

double maxGain(const Analysis& a) {
  double maximum = 1;
  for (const Finding& f : a.findings)
    for (const Prediction& p : {drawnAdvice(f).predicted, measuredOf(drawnAdvice(f))})
      maximum = std::max(maximum, p.high.value_or(1));
  return std::max(nextRound(maximum), 2.0);
}

void tooLong(Html& html) {
  html.add("p", {{"class", "quiet"}}, "too long to show here: stallprof report --format json");
}

void diff(Html& html, const std::string& shown) {
  if (shown.size() > kLongestCode) return tooLong(html);
  const auto pre = html.open("pre", {{"class", "diff"}, {"tabindex", "0"}});
  for (std::size_t from = 0; from < shown.size();) {
    const std::size_t to = std::min(shown.find('\n', from), shown.size());
    const std::string line = shown.substr(from, to - from);
    html.add("span",
             {{"class", line.starts_with('+')   ? "add"
                        : line.starts_with('-') ? "del"
                                                : ""}},
             line);
    from = to + 1;
  }
}

void adviceBody(Html& html, const Analysis& a, const Finding& f, std::size_t index) {
  const Advice& advice = f.advice[index];
  if (advice.measured) {
    const auto tried = html.open("p");
    html.text("Tried: measured ");
    measuredFigure(html, a, f, index);
    html.text(", " + predictedText(advice.predicted) + ".");
  }
  if (failedWhenTried(advice))
    html.add("p", "Tried: it failed (" + predictedText(advice.predicted) + ").");
  if (!advice.diff.empty()) diff(html, advice.diff);
  if (!advice.verifyCommand.empty()) {
    html.add("h4", "Check it");
    if (advice.verifyCommand.size() > kLongestCode)  // a part of a command is another command
      tooLong(html);
    else
      html.add("pre", {{"class", "cmd"}, {"tabindex", "0"}}, advice.verifyCommand);
  }
  if (!advice.risk.empty())
    html.add("p", {{"class", "quiet"}}, "Risk: " + shortened(advice.risk, kLongestText));
}

void advices(Html& html, const Analysis& a, const Finding& f) {
  for (std::size_t i = 0; i < std::min(f.advice.size(), kMaxAdvice); ++i) {
    const Advice& advice = f.advice[i];
    const std::string gain = gainAndBasis(advice.predicted);
    const std::string text = shortened(advice.text, kLongestText);
    if (i == 0) {
      html.add("h4", "Change");
      html.add("p", text);
      adviceBody(html, a, f, i);
      continue;
    }
    const auto details = html.open("details");
    {
      const auto summary = html.open("summary");
      html.text("Or: " + text);
      if (gain != "not predicted" && !failedWhenTried(advice))
        html.add("span", {{"class", "quiet"}}, "  " + gain);
      if (advice.measured)
        html.add("span", {{"class", "quiet"}}, "  measured " + measuredText(advice));
    }
    adviceBody(html, a, f, i);
  }
}

void meta(Html& html, const FindingRow& row, const Analysis& a) {
  const Finding& f = *row.finding;
  const auto line = html.open("p", {{"class", "meta"}});
  {
    const auto id = html.open("span");
    dot(html, hueOf(f.phase));
    html.add("code", {{"data-path", pathOf(f, "id", a)}, {"data-value", f.id}}, f.id);
  }
  {
    const auto share = html.open("span");
    figure(html, pathOf(f, "share_ratio", a), f.shareRatio, percentText(f.shareRatio));
    html.text(" " + windowText(a.breakdown));
    if (const std::size_t in = row.share.find(" (in "); in != std::string::npos)
      html.text(", part of finding " + row.share.substr(in + 5, row.share.size() - in - 6));
  }
  const auto sure = html.open("span");
  word(html, pathOf(f, "confidence", a), nameOf(f.confidence), std::string(nameOf(f.confidence)));
  html.text(" confidence");
}

void gain(Html& html, const Finding& f, const Analysis& a, double maximum) {
  const auto column = html.open("div", {{"class", "gain"}});
  const Advice& advice = drawnAdvice(f);
  const Prediction& p = advice.predicted;
  if (!p.speedup && !advice.measured) {
    html.text(a.verdict.healthy.value_or(false) && f.rank == 1 ? "" : "gain not predicted");
    return;
  }
  const auto index = static_cast<std::size_t>(&advice - f.advice.data());
  bool drawn = false;
  if (p.speedup) {
    html.text(decided(advice) ? "predicted" : "if fixed, as fast");
    {
      const auto big = html.open("span", {{"class", "big"}});
      gainFigure(html, a, f, index);
    }
    if (!p.assumes.empty()) html.add("div", "assuming that " + p.assumes);
    drawn = interval(html, "predicted ", "fill first", p, maximum);
  }
  if (advice.measured) {
    html.text("measured");
    {
      const auto big = html.open("span", {{"class", "big"}});
      measuredFigure(html, a, f, index);
    }
    drawn |= interval(html, "measured ", "fill second", measuredOf(advice), maximum);
  }
  if (drawn) axisEnds(html, maximum);
}

void finding(Html& html, const FindingRow& row, const Analysis& a, double maximum) {
  const Finding& f = *row.finding;
  const auto article =
      html.open("article", {{"class", "finding"}, {"id", "finding-" + std::to_string(f.rank)}});
  html.add("div", {{"class", "rank"}, {"aria-hidden", "true"}}, std::to_string(f.rank));
  const auto content = html.open("div");
  {
    const auto head = html.open("div", {{"class", "fhead"}});
    {
      const auto left = html.open("div");
      html.add("h3", shortened(f.title, kLongestText));
      meta(html, row, a);
    }
    gain(html, f, a, maximum);
  }
  const std::string where = shortened(lineText(f.where), kLongestText),
                    hot = shortened(lineText(f.hot), kLongestText);
  if (!f.evidence.empty() || !hot.empty()) {
    html.add("h4", "Evidence");
    const auto list = html.open("ul");
    for (std::size_t i = 0; i < std::min(f.evidence.size(), kMaxEvidence); ++i)
      html.add("li", shortened(f.evidence[i].text, kLongestText));
    if (!hot.empty()) {
      const auto item = html.open("li");
      html.text("most of it in ");
      html.add("code", hot);
    }
  }
  if (!where.empty()) {
    html.add("h4", "Where");
    html.add("code", where);
  }
  advices(html, a, f);
}

void minors(Html& html, const std::vector<const FindingRow*>& rows, std::size_t total,
            const Analysis& a) {
  if (rows.empty()) return;
  const auto details = html.open("details");
  html.add("summary", countOf(static_cast<std::int64_t>(rows.size()), "further finding"));
  const auto list = html.open("ul", {{"class", "plain"}});
  for (const FindingRow* row : rows) {
    const auto item = html.open("li");
    dot(html, hueOf(row->finding->phase));
    html.add("code",
             {{"data-path", pathOf(*row->finding, "id", a)}, {"data-value", row->finding->id}},
             row->finding->id);
    html.text("  " + shortened(row->finding->title, 200) + ", " + row->share + ", gain " +
              row->gain);
  }
  if (total > rows.size())
    html.add("li", {{"class", "quiet"}},
             "and " + countText(static_cast<std::int64_t>(total - rows.size())) +
                 " more in the JSON report");
}

}  // namespace

void gainFigure(Html& html, const Analysis& a, const Finding& f, std::size_t index) {
  const Prediction& p = f.advice[index].predicted;
  const bool assumed = p.basis == Basis::kAssumed && shownSpeedup(p) == p.high;
  figure(html,
         pathOf(f, "advice.", a) + std::to_string(index) + ".predicted." +
             (assumed ? "high" : "speedup"),
         shownSpeedup(p), gainText(p));
}

void measuredFigure(Html& html, const Analysis& a, const Finding& f, std::size_t index) {
  figure(html, pathOf(f, "advice.", a) + std::to_string(index) + ".measured",
         f.advice[index].measured, measuredText(f.advice[index]));
}

void findingsSection(Html& html, const Analysis& a) {
  const auto section = html.open("section", {{"id", "findings"}});
  html.add("h2", "Bottlenecks");
  const std::vector<FindingRow> rows = findingRows(a);
  if (rows.empty()) {
    html.add("p", {{"class", "intro"}}, "None found.");
    return;
  }
  const std::string ties = tieText(a);
  html.add(
      "p", {{"class", "intro"}},
      "Ranked by predicted time saved, weighted by confidence. A gain with a 90 % interval is from "
      "a replay of the pipeline with that one change. A gain \"up to\" is the most under a stated "
      "assumption. Replayed fixes come first. Gains do not add up: fix one, measure, and read the "
      "new report." +
          std::string(anyMeasured(a) ? " Tried fixes are ranked by their measured gain." : "") +
          (ties.empty() ? "" : " Findings " + ties + "."));
  const double maximum = maxGain(a);
  std::vector<const FindingRow*> small;
  std::size_t unfolded = 0, rest = 0;
  for (const FindingRow& row : rows) {
    if (!row.minor && unfolded < kMaxUnfolded) {
      ++unfolded;
      finding(html, row, a, maximum);
    } else if (++rest <= kMaxFolded) {
      small.push_back(&row);
    }
  }
  minors(html, small, rest, a);
}

}  // namespace stallprof
