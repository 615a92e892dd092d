// SPDX-License-Identifier: MIT
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "present/html/html_sections.h"
#include "present/words/wording.h"
#include "present/words/wording_functions.h"

namespace stallprof {
namespace {

struct Row {
  Hue hue;
  double ratio;
  const char* name;
  const char* path;
};

// A phase's own time.
Row rowOf(Phase phase, double ratio) {
  const char* name = nameOf(phase).data();
  return {hueOf(phase), ratio, name, name};
}

// The trainer's own time, waiting first: what it waited for stands right below.
std::vector<Row> trainerRows(const Breakdown::Ratio& r) {
  return {{Hue::kWait, r.dataWait, "waiting for data", "data_wait"},
          rowOf(Phase::kLoad, r.load),
          rowOf(Phase::kCompute, r.compute),
          rowOf(Phase::kSync, r.sync),
          rowOf(Phase::kComm, r.comm),
          rowOf(Phase::kPeriodic, r.periodic),
          rowOf(Phase::kOther, r.other)};
}

std::vector<Row> blameRows(const Breakdown::BlameRatio& b) {
  return {rowOf(Phase::kExtract, b.extract),
          rowOf(Phase::kTransform, b.transform),
          rowOf(Phase::kLoad, b.load),
          {Hue::kLoad, b.startup, "worker start-up", "startup"},
          rowOf(Phase::kUnknown, b.unknown)};
}

std::vector<double> ratiosOf(const std::vector<Row>& rows) {
  std::vector<double> ratios;
  for (const Row& row : rows) ratios.push_back(row.ratio);
  return ratios;
}

std::vector<BarPart> segmentsOf(const std::vector<Row>& rows,
                                const std::vector<std::string>& texts) {
  std::vector<BarPart> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string said = std::string(rows[i].name) + " " + texts[i];
    parts.push_back({rows[i].hue, rows[i].ratio, said, said, false});
  }
  return parts;
}

void bars(Html& html, const Breakdown& b) {
  const auto grid = html.open("div", {{"class", "bars"}});
  html.add("span", "the trainer");
  const std::vector<Row> trainer = trainerRows(*b.ratio);
  stackedBar(html, segmentsOf(trainer, percentTexts(ratiosOf(trainer))), "");
  if (!b.blame || b.ratio->dataWait < 0.005) return;
  html.add("span", "waits, by cause");
  const std::vector<Row> blame = blameRows(*b.blame);
  const int wait = apportioned(ratiosOf(trainer), 100).at(0);
  std::vector<BarPart> parts = segmentsOf(blame, percentTextsOf(wait, ratiosOf(blame)));
  parts.push_back({Hue::kOther, 1 - b.ratio->dataWait, "", "", true});
  stackedBar(html, parts, "thin");
}

void legend(Html& html, const Breakdown& b) {
  const auto list = html.open("ul", {{"class", "legend"}, {"aria-label", "the trainer's time"}});
  const std::vector<Row> rows = trainerRows(*b.ratio);
  const std::vector<std::string> texts = percentTexts(ratiosOf(rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!(rows[i].ratio > 0) && rows[i].hue != Hue::kOther) continue;
    const auto item = html.open("li");
    dot(html, rows[i].hue);
    html.text(std::string(rows[i].name) + " ");
    const auto bold = html.open("b");
    figure(html, std::string("breakdown.ratio.") + rows[i].path, rows[i].ratio, texts[i]);
  }
  html.add("li", {{"class", "quiet"}}, "adds up to 100 %");
}

// In words what the bars show.
void blameLine(Html& html, const Breakdown& b) {
  std::string line = joined(blameParts(b), ", ");
  if (line.empty() && b.hiddenWaitRatio.value_or(0) >= 0.005)
    line = percentText(*b.hiddenWaitRatio) + " waiting for data, hidden behind device work";
  if (!line.empty()) html.add("p", {{"class", "quiet"}}, line + ".");
}

void phaseTable(Html& html, const Analysis& a) {
  const std::vector<ShareRow> shares = phaseShares(a.breakdown);
  const std::vector<std::string> texts = tenthTexts(ratiosOf(shares));
  const bool perStep = a.breakdown.scope != "run" && a.steps.windowCount > 0;
  const auto scroll = html.open("div", {{"class", "scroll"}});
  const auto table = html.open("table");
  {
    const auto head = html.open("thead");
    const auto row = html.open("tr");
    html.add("th", {{"scope", "col"}}, "phase");
    html.add("th", {{"scope", "col"}, {"class", "r"}}, "share");
    if (perStep) html.add("th", {{"scope", "col"}, {"class", "r"}}, "per step");
    html.add("th", {{"scope", "col"}, {"class", "w"}}, "");
    html.add("th", {{"scope", "col"}, {"class", "wide"}}, "what it is");
  }
  const auto body = html.open("tbody");
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ShareRow& share = shares[i];
    const Hue hue = hueOf(phaseNamed(share.name));
    const auto row = html.open("tr");
    rowHead(html, hue, share.name);
    figureCell(html, "breakdown.phase_ratio." + share.name, share.ratio, texts[i]);
    if (perStep)
      html.add("td", {{"class", "r"}},
               durationText(
                   Nanos(std::llround(static_cast<double>(a.steps.window.count()) /
                                      static_cast<double>(a.steps.windowCount) * share.ratio))));
    meterCell(html, "w", share.ratio, hue);
    html.add("td", {{"class", "quiet wide"}}, share.note);
  }
}

void lineTable(Html& html, const Analysis& a) {
  if (a.lines.empty()) return;
  html.add("h3", "By line of the loop");
  const HtmlTable table(
      html, {textColumn("phase"), numberColumn("share"), textColumn("line"), textColumn("source")});
  double shown = 0;
  for (std::size_t i = 0; i < a.lines.size(); ++i) {
    const LineInfo& l = a.lines[i];
    shown += l.ratio;
    const auto row = html.open("tr");
    rowHead(html, hueOf(l.phase), nameOf(l.phase));
    figureCell(html, "lines." + std::to_string(i) + ".ratio", l.ratio, percentText(l.ratio));
    cell(html, "", [&] { html.add("code", shortened(lineText(l.where), 200)); });
    cell(html, "", [&] { html.add("code", shortened(l.text.raw(), 120)); });
  }
  const double rest = elsewhereRatio(shown);
  if (rest <= 0) return;
  const auto row = html.open("tr");
  html.add("th", {{"scope", "row"}}, std::string(kElsewhere));
  cell(html, "r", [&] { html.text(percentText(rest)); });
  cell(html, "", [] {});
  cell(html, "", [] {});
}

}  // namespace

void timeSection(Html& html, const Analysis& a) {
  const auto section = html.open("section", {{"id", "time"}});
  html.add("h2", "Where time goes");
  if (!a.breakdown.ratio || !a.breakdown.phase) {
    html.add("p", {{"class", "intro"}}, "Not measured: no training step was seen.");
    return;
  }
  html.add("p", {{"class", "intro"}},
           a.breakdown.scope == "run"
               ? "Shares are " + scopeText(lineText(a.breakdown.loop)) + "."
               : "All time of the trainer's thread after warm-up is assigned to one phase. Waits "
                 "for a batch are assigned to the activity of the worker that made it.");
  bars(html, a.breakdown);
  legend(html, a.breakdown);
  blameLine(html, a.breakdown);
  phaseTable(html, a);
  lineTable(html, a);
}

}  // namespace stallprof
