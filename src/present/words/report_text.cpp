// SPDX-License-Identifier: MIT
#include "present/words/report_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "present/words/page.h"
#include "present/words/page_findings.h"
#include "present/words/tuning_text.h"
#include "present/words/wording.h"
#include "present/words/wording_device.h"
#include "present/words/wording_functions.h"

namespace stallprof {
namespace {

// Taken in this order, one at a time, until the page fits into kTextLines: what says least about
// rank 1 goes first, what rank 1 rests on goes last.
struct Reduction {
  std::size_t Detail::*item;
  std::size_t to;
};
constexpr Reduction kReductions[] = {
    {&Detail::evidenceOfOthers, 3},
    {&Detail::advice, 2},
    {&Detail::trainers, 8},
    {&Detail::epochs, 3},
    {&Detail::rows, 6},
    {&Detail::natives, 3},
    {&Detail::evidenceOfOthers, 2},
    {&Detail::diffLines, 4},
    {&Detail::evidence, 4},
    {&Detail::advice, 1},
    {&Detail::unfolded, 2},
    {&Detail::trainers, 4},
    {&Detail::rows, 5},
    {&Detail::functions, 6},
    {&Detail::lines, 6},
    {&Detail::trainers, 2},
    {&Detail::epochs, 2},
    {&Detail::evidenceOfOthers, 1},
    {&Detail::functions, 4},
    {&Detail::natives, 2},
    {&Detail::rows, 3},
    {&Detail::unfolded, 1},
    {&Detail::functions, 3},
    {&Detail::lines, 4},
    {&Detail::evidence, 3},
    {&Detail::listed, 8},
    {&Detail::trainers, 1},
    {&Detail::epochs, 1},
    {&Detail::functions, 2},
    {&Detail::natives, 1},
    {&Detail::diffLines, 2},
    {&Detail::rows, 1},
    {&Detail::evidence, 2},
    {&Detail::functions, 1},
    {&Detail::lines, 2},
    {&Detail::natives, 0},
    {&Detail::listed, 6},
    {&Detail::evidence, 1},
    {&Detail::diffLines, 0},
    {&Detail::functions, 0},
    {&Detail::lines, 0},
    {&Detail::listed, 3},
    {&Detail::fieldLines, 4},
    {&Detail::fieldLines, 2},
    {&Detail::fieldLines, 1},
};

constexpr std::size_t kBar = 50;
constexpr std::size_t kLongestNote = 32;  // of phaseShares; a narrow page has none

std::string barOf(const std::vector<ShareRow>& shares) {
  const std::vector<int> columns = apportioned(ratiosOf(shares), static_cast<int>(kBar));
  std::string bar;
  for (std::size_t i = 0; i < shares.size(); ++i)
    bar.append(static_cast<std::size_t>(columns[i]), shares[i].glyph);
  return "|" + padded(bar, kBar) + "|";
}

// "# compute 51 %", ...
std::vector<std::string> legendOf(const std::vector<ShareRow>& shares) {
  std::vector<std::string> parts = percentTexts(ratiosOf(shares));
  for (std::size_t i = 0; i < shares.size(); ++i)
    parts[i] = std::string(1, shares[i].glyph) + " " + shares[i].name + " " + parts[i];
  parts.emplace_back("(adds up to 100 %)");
  return parts;
}

void head(Page& page, const Analysis& a, const PresentOptions& options) {
  std::vector<std::string> parts = headline(a);
  parts[1] = cut(escapeTerminal(parts[1]), page.width() * 2);
  page.flow("", 0, parts, " | ");
  std::vector<std::string> capture = captureParts(a);
  if (!options.recording.empty())
    capture.insert(capture.begin(),
                   cutLeft(escapeTerminal(options.recording), page.width() - kLabel));
  page.flow("recording", kLabel, capture, " | ");
  for (const std::string& warning : warnings(a)) page.field("!", 2, warning, Tone::kBad);
  page.blank();
  page.field("VERDICT", kLabel, verdictText(a));
  page.blank();
}

void stepTime(Page& page, const Analysis& a) {
  if (a.steps.count > 0)
    page.field("STEP TIME", kLabel, stepTimeText(a.steps));
  else
    page.field("STEP TIME", kLabel,
               "steps unknown: no batch, optimizer step or mark was seen" +
                   (a.run.wall > Nanos(0) ? " in " + durationText(a.run.wall) + " of run" : ""));
  const std::vector<ShareRow> shares = trainerShares(a.breakdown);
  if (!shares.empty()) {
    page.field("", kLabel, barOf(shares));
    page.flow("", kLabel, legendOf(shares), "   ");
  }
  page.flow("USE", kLabel, useParts(a), "   ");
  page.blank();
}

void phases(Page& page, const Analysis& a) {
  const std::vector<ShareRow> shares = phaseShares(a.breakdown);
  const bool run = a.breakdown.scope == "run";
  if (shares.empty()) {
    page.field("WHERE TIME WENT", 17, kNotMeasuredText);
    return page.blank();
  }
  const bool perStep = !run && a.steps.windowCount > 0;
  const double step = perStep ? static_cast<double>(a.steps.window.count()) /
                                    static_cast<double>(a.steps.windowCount)
                              : 0;
  page.line(padded("WHERE TIME WENT", 20) + "   share" +
                (perStep ? "  per step"
                 : run   ? "  " + scopeText(placeText(a.breakdown.loop, page.width() - 45))
                         : ""),
            Tone::kHeading);
  const std::vector<std::string> percents = tenthTexts(ratiosOf(shares));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ShareRow& s = shares[i];
    const auto bar = static_cast<std::size_t>(std::lround(std::clamp(s.ratio, 0.0, 1.0) * 25));
    const std::string time = perStep ? durationText(Nanos(std::llround(step * s.ratio))) : "";
    std::string line = "  " + padded(s.name, 18) + rightAligned(percents[i], 8);
    if (perStep) line += rightAligned(time, 10);
    line += "  " + padded(std::string(bar, '#'), 25) + "  ";
    page.line(columnsOf(line) + kLongestNote <= page.width() ? line + s.note : line);
  }
  page.flow("", 2, blameParts(a.breakdown), ", ");
  page.blank();
}

void devices(Page& page, const Analysis& a) {
  const std::vector<DeviceLine> lines = deviceLines(a);
  if (lines.empty()) return;
  bool first = true;
  for (const DeviceLine& line : lines) {
    std::vector<std::string> parts = line.parts;
    parts[0] = padded(line.name, std::max<std::size_t>(9, columnsOf(line.name) + 1)) + parts[0];
    page.flow(first ? "GPU" : "", kLabel, parts, "   ");
    first = false;
  }
  page.blank();
}

void functions(Page& page, const Analysis& a, const Detail& detail) {
  const std::vector<std::string> lines = functionLines(a, detail.functions);
  if (lines.empty()) return;
  page.line("FUNCTIONS   share of the phase's samples, innermost Python frame", Tone::kHeading);
  for (const std::string& line : lines)
    page.field("  " + line.substr(0, 18), 20, line.substr(18), Tone::kPlain);
  page.blank();
}

void loopRows(Page& page, const Analysis& a, const Detail& detail) {
  const std::vector<std::string> rows = loopLines(a, detail.lines);
  if (rows.empty()) return;
  page.line("LINES OF THE LOOP   share of the trainer's time, with what they call", Tone::kHeading);
  for (const std::string& row : rows) page.line(cut(row, page.width()));
  page.blank();
}

// In full where no Python says more; left out where the page has no room but for what rank 1 says.
void natives(Page& page, const Analysis& a, const Detail& detail) {
  constexpr std::size_t kBeside = 3;
  const auto lines =
      nativeLines(a, a.functions.empty() ? detail.natives : std::min(detail.natives, kBeside));
  if (lines.empty()) return;
  page.field("", 0, "NATIVE CODE   share of " + nativeHead(*a.native), Tone::kHeading);
  for (const std::string& line : lines)
    page.field("  " + line.substr(0, 20), 22, line.substr(20), Tone::kPlain);
  page.blank();
}

void trainers(Page& page, const Analysis& a, const Detail& detail) {
  if (a.trainers.size() < 2) return;
  const std::size_t shown = std::min(a.trainers.size(), detail.trainers);
  for (std::size_t i = 0; i < shown; ++i)
    page.field(i == 0 ? "TRAINERS" : "", kLabel, trainerText(a.trainers[i]));
  if (shown < a.trainers.size())
    page.field(
        "", kLabel,
        "and " + countOf(static_cast<std::int64_t>(a.trainers.size() - shown), "more trainer"));
}

// The first ones (cold against warm shows there) and the last; with room for one line, what they
// have in common.
void epochs(Page& page, const Analysis& a, const Detail& detail) {
  if (a.epochs.size() < 2) return;
  if (detail.epochs == 1) return page.field("EPOCHS", kLabel, epochsText(a.epochs));
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    const bool last = i + 1 == a.epochs.size();
    if (i + 1 >= detail.epochs && !last) continue;
    const bool skipped = last && i >= detail.epochs;
    page.field(i == 0    ? "EPOCHS"
               : skipped ? "   ..."
                         : "",
               kLabel, std::to_string(a.epochs[i].index) + ": " + epochText(a.epochs[i]));
  }
}

void ceilings(Page& page, const Analysis& a, const Detail& detail) {
  if (a.ceilings.empty()) return;
  const std::string now =
      a.steps.ratePerSecond ? " (now " + rateText(*a.steps.ratePerSecond, "steps") + ")" : "";
  page.line(padded("CEILINGS", kLabel) + "the pace each stage alone would allow" + now,
            Tone::kHeading);
  std::size_t gap = 7;
  for (const Ceiling& c : a.ceilings) gap = std::max(gap, columnsOf(gapText(c)));
  for (std::size_t i = 0; i < std::min(a.ceilings.size(), detail.listed); ++i) {
    const Ceiling& c = a.ceilings[i];
    const std::string label = std::string(kLabel, ' ') + padded(escapeTerminal(c.stage), 11) +
                              padded(rateText(c.stepsPerSecond, "steps"), 16) +
                              padded(gapText(c), gap + 2);
    page.field(label, columnsOf(label), c.limitedBy + " (" + c.basis + ")", Tone::kPlain);
  }
}

// Commands that are longer than a line each on lines of its own, the others side by side.
void more(Page& page, const std::vector<std::string>& commands) {
  constexpr std::size_t kMore = 6;
  std::string label = "More";
  std::vector<std::string> fitting;
  for (const std::string& command : commands) {
    if (columnsOf(command) + kMore <= page.width()) {
      fitting.push_back(command);
      continue;
    }
    page.command(std::exchange(label, {}), kMore, command, command);
  }
  page.flow(label, kMore, fitting, "   |   ");
}

void foot(Page& page, const Analysis& a, const PresentOptions& options, const Detail& detail) {
  trainers(page, a, detail);
  epochs(page, a, detail);
  ceilings(page, a, detail);
  if (a.tuned) page.field("TUNED", kLabel, joined(tuningSummary(*a.tuned), " | "));
  if (a.cost) page.field("COST", kLabel, costText(*a.cost));
  page.blank();
  page.flow("NOT A PROBLEM", 15, a.notAProblem, " | ");
  page.flow("NOT MEASURED", 15, a.notMeasured, " | ");
  page.blank();
  more(page, nextCommands(a, options));
}

std::string composed(const Analysis& a, const PresentOptions& options, const Detail& detail,
                     std::size_t& lines) {
  Page page(static_cast<std::size_t>(std::clamp(options.width, 80, 120)), options.colour,
            detail.fieldLines);
  head(page, a, options);
  stepTime(page, a);
  phases(page, a);
  devices(page, a);
  loopRows(page, a, detail);
  functions(page, a, detail);
  natives(page, a, detail);
  findings(page, a, detail);
  foot(page, a, options, detail);
  lines = page.lines();
  return page.text();
}

}  // namespace

std::string reportText(const Analysis& analysis, const PresentOptions& options) {
  Detail detail;
  std::size_t lines = 0;
  std::string text = composed(analysis, options, detail, lines);
  for (const Reduction& reduction : kReductions) {
    if (lines <= kTextLines) break;
    detail.*reduction.item = reduction.to;
    text = composed(analysis, options, detail, lines);
  }
  return text;
}

}  // namespace stallprof
