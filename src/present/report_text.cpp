// SPDX-License-Identifier: MIT
#include "present/report_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "present/page.h"
#include "present/units.h"
#include "present/wording.h"
#include "present/wording_device.h"
#include "present/wording_functions.h"
#include "present/wording_native.h"

namespace stallprof {
namespace {

constexpr std::size_t kLabel = 12;       // "STEP TIME   "
constexpr std::size_t kInnerLabel = 13;  // "   evidence  "
constexpr std::size_t kBar = 50;
constexpr std::size_t kLongestNote = 32;  // of phaseShares; a narrow page has none

// How much is told; the fullest that fits into kTextLines is taken. What rank 1 rests on goes last.
struct Detail {
  std::size_t rows, unfolded, evidence, evidenceOfOthers, textLines, diffLines, advice, epochs,
      ceilings, listLines;
};
constexpr Detail kDetails[] = {
    {8, 3, 5, 4, 3, 6, 3, 4, 5, 4}, {8, 3, 5, 3, 2, 5, 2, 3, 4, 3}, {6, 3, 4, 2, 2, 4, 1, 3, 3, 3},
    {6, 2, 4, 2, 2, 4, 1, 3, 3, 2}, {5, 2, 4, 1, 2, 4, 1, 2, 2, 1}, {5, 1, 4, 2, 2, 4, 1, 2, 2, 2},
    {3, 1, 4, 1, 2, 4, 1, 2, 2, 1}, {3, 1, 3, 1, 1, 2, 1, 2, 1, 1}, {1, 1, 1, 1, 1, 2, 1, 1, 1, 1},
};

std::string rightAligned(const std::string& text, std::size_t columns) {
  return std::string(columns - std::min(columns, text.size()), ' ') + text;
}

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

void head(Page& page, const Analysis& a, const PresentOptions& options, const Detail& detail) {
  std::vector<std::string> parts = headline(a);
  parts[1] = cut(escapeTerminal(parts[1]), page.width() * 3 / 5);
  page.flow("", 0, parts, " | ", 2);
  std::vector<std::string> capture = captureParts(a);
  if (!options.recording.empty()) {
    const std::string name = options.recording;
    capture.insert(capture.begin(), cut(escapeTerminal(name), page.width() / 2));
  }
  page.flow("recording", kLabel, capture, " | ", 4);
  for (const std::string& warning : warnings(a))
    page.field("!", 2, warning, detail.textLines, Tone::kBad);
  page.blank();
  page.field("VERDICT", kLabel, verdictText(a), 3);
  page.blank();
}

void stepTime(Page& page, const Analysis& a) {
  if (a.steps.count > 0)
    page.field("STEP TIME", kLabel, stepTimeText(a.steps), 2);
  else
    page.field("STEP TIME", kLabel,
               "steps unknown: no batch, optimizer step or mark was seen" +
                   (a.run.wall > Nanos(0) ? " in " + durationText(a.run.wall) + " of run" : ""),
               2);
  const std::vector<ShareRow> shares = trainerShares(a.breakdown);
  if (!shares.empty()) {
    page.field("", kLabel, barOf(shares), 1);
    page.flow("", kLabel, legendOf(shares), "   ", 2);
  }
  page.flow("USE", kLabel, useParts(a), "   ", 2);
  page.blank();
}

void phases(Page& page, const Analysis& a) {
  const std::vector<ShareRow> shares = phaseShares(a.breakdown);
  const bool run = a.breakdown.scope == "run";
  if (shares.empty()) {
    page.field("WHERE TIME WENT", 17, kNotMeasured, 1);
    return page.blank();
  }
  const bool perStep = !run && a.steps.windowCount > 0;
  const double step = perStep ? static_cast<double>(a.steps.window.count()) /
                                    static_cast<double>(a.steps.windowCount)
                              : 0;
  page.line(padded("WHERE TIME WENT", 20) + "   share" +
                (perStep ? "  per step"
                 : run   ? "  of the whole run"
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
  page.flow("", 2, blameParts(a.breakdown), ", ", 2);
  page.blank();
}

void devices(Page& page, const Analysis& a) {
  const std::vector<DeviceLine> lines = deviceLines(a);
  if (lines.empty()) return;
  bool first = true;
  for (const DeviceLine& line : lines) {
    std::vector<std::string> parts = line.parts;
    parts[0] = padded(line.name, std::max<std::size_t>(9, columnsOf(line.name) + 1)) + parts[0];
    page.flow(first ? "GPU" : "", kLabel, parts, "   ", 2);
    first = false;
  }
  page.blank();
}

void functions(Page& page, const Analysis& a) {
  const std::vector<std::string> lines = functionLines(a);
  if (lines.empty()) return;
  page.line("FUNCTIONS   share of the phase's looks, innermost Python frame", Tone::kHeading);
  for (const std::string& line : lines)
    page.field("  " + line.substr(0, 18), 20, line.substr(18), 2, Tone::kPlain);
  page.blank();
}

// In full where no Python says more; left out where the page has no room but for what rank 1 says.
void natives(Page& page, const Analysis& a, const Detail& detail) {
  constexpr std::size_t kAlone = 8, kBeside = 3;
  const auto lines = nativeLines(a, std::min(detail.rows, a.functions.empty() ? kAlone : kBeside));
  if (lines.empty() || (detail.rows == 1 && !a.findings.empty())) return;
  page.line("NATIVE CODE   share of " + nativeHead(*a.native), Tone::kHeading);
  for (const std::string& line : lines)
    page.field("  " + line.substr(0, 20), 22, line.substr(20), detail.textLines, Tone::kPlain);
  page.blank();
}

void bottlenecks(Page& page, const std::vector<FindingRow>& rows, const std::string& ties,
                 const Detail& detail) {
  if (rows.empty()) {
    page.field("BOTTLENECKS", kLabel, "none found", 1);
    return page.blank();
  }
  std::size_t id = 11, share = 5, gain = 13;
  for (const FindingRow& row : rows) {
    id = std::clamp(columnsOf(escapeTerminal(row.finding->id)), id, std::size_t{30});
    share = std::clamp(columnsOf(escapeTerminal(row.share)), share, std::size_t{12});
    gain = std::clamp(columnsOf(row.gain), gain, std::size_t{20});  // numbers are never cut
  }
  constexpr std::size_t kConfidence = 10;
  const std::size_t fixed = 3 + id + 2 + share + 2 + gain + 2 + kConfidence;
  // A title of fewer columns says nothing; the id does, and the title stands below.
  const std::size_t title = page.width() >= fixed + 22 ? page.width() - fixed - 2 : 0;
  const auto row = [&](const std::string& name, const std::string& what, const std::string& part,
                       const std::string& gains, const std::string& sure) {
    std::string line = padded(name, 3 + id) + "  ";
    if (title > 0) line += padded(what, title) + "  ";
    return line + padded(part, share) + "  " + padded(gains, gain) + "  " + sure;
  };
  page.line(row("BOTTLENECKS", "", "share", "gain if fixed", "confidence"), Tone::kHeading);
  std::size_t shown = 0;
  std::vector<std::string> rest;
  for (const FindingRow& r : rows) {
    const Finding& f = *r.finding;
    if (shown < detail.rows && !(r.minor && shown > 0)) {
      ++shown;
      page.line(row((f.rank < 10 ? " " : "") + std::to_string(f.rank) + " " + escapeTerminal(f.id),
                    escapeTerminal(f.title), escapeTerminal(r.share), r.gain, r.confidence));
    } else {
      rest.push_back(f.id + " " + r.share);
    }
  }
  if (!rest.empty()) {
    rest[0] = "smaller: " + rest[0];
    page.flow("", 3, rest, ", ", 2);
  }
  if (!ties.empty()) page.field("", 3, ties, 1);
  page.blank();
}

void oneAdvice(Page& page, const Advice& advice, bool first, const Detail& detail) {
  page.field(first ? "   change" : "   or", kInnerLabel, adviceText(advice), detail.textLines,
             Tone::kQuiet);
  std::size_t from = 0;
  for (std::size_t i = 0; first && i < detail.diffLines && from < advice.diff.size(); ++i) {
    const std::size_t to = std::min(advice.diff.find('\n', from), advice.diff.size());
    const std::string text = advice.diff.substr(from, to - from);
    const Tone tone = text.starts_with('+')   ? Tone::kGood
                      : text.starts_with('-') ? Tone::kBad
                                              : Tone::kPlain;
    page.line(std::string(kInnerLabel, ' ') + text, tone);
    from = to + 1;
  }
}

void unfold(Page& page, const FindingRow& row, const PresentOptions& options,
            const Detail& detail) {
  const Finding& f = *row.finding;
  const std::string where = cut(escapeTerminal(lineText(f.where)), page.width() / 2);
  const std::string name = std::to_string(f.rank) + "  " + f.id + "  " + f.title;
  const std::size_t room = page.width() - columnsOf(where) - (where.empty() ? 0 : 2);
  page.line(padded(escapeTerminal(name), room) + (where.empty() ? "" : "  " + where),
            Tone::kHeading);
  std::size_t told = 0;
  for (const EvidenceItem& item : f.evidence) {
    if (told++ == (f.rank == 1 ? detail.evidence : detail.evidenceOfOthers)) break;
    page.field(told == 1 ? "   evidence" : "", kInnerLabel, item.text, detail.textLines,
               Tone::kQuiet);
  }
  // A library of which no function is known says nothing that the table above does not.
  if (!f.hot.function.empty() || f.hot.line != 0)
    page.field("   hot", kInnerLabel, lineText(f.hot), 1, Tone::kQuiet);
  for (std::size_t i = 0; i < std::min(f.advice.size(), detail.advice); ++i)
    oneAdvice(page, f.advice[i], i == 0, detail);
  if (!f.advice.empty()) {
    const Advice& first = f.advice[0];
    if (!first.verifyCommand.empty())
      page.command("   check", kInnerLabel, first.verifyCommand, 4,
                   "too long to show here: stallprof report " +
                       quoteShell(options.recording.empty() ? "RECORDING" : options.recording) +
                       " --format md");
    if (!first.risk.empty())
      page.field("   risk", kInnerLabel, first.risk, detail.textLines, Tone::kQuiet);
  }
  page.blank();
}

void trainers(Page& page, const Analysis& a, const Detail& detail) {
  if (a.trainers.size() < 2) return;
  const std::size_t shown = std::min(a.trainers.size(), detail.epochs);
  for (std::size_t i = 0; i < shown; ++i)
    page.field(i == 0 ? "TRAINERS" : "", kLabel, trainerText(a.trainers[i]), 2);
  if (shown < a.trainers.size())
    page.field("", kLabel, "and " + std::to_string(a.trainers.size() - shown) + " more", 1);
}

// The first ones (cold against warm shows there) and the last.
void epochs(Page& page, const Analysis& a, const Detail& detail) {
  if (a.epochs.size() < 2) return;
  bool first = true;  // of a page with room for one that is the last
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    const bool last = i + 1 == a.epochs.size();
    if (i + 1 >= detail.epochs && !last) continue;
    const bool skipped = last && i >= detail.epochs;
    page.field(std::exchange(first, false) ? "EPOCHS"
               : skipped                   ? "   ..."
                                           : "",
               kLabel, std::to_string(a.epochs[i].index) + ": " + epochText(a.epochs[i]), 1);
  }
}

void ceilings(Page& page, const Analysis& a, const Detail& detail) {
  if (a.ceilings.empty()) return;
  const std::string now =
      a.steps.ratePerSecond ? " (now " + rateText(*a.steps.ratePerSecond, "steps") + ")" : "";
  page.line(padded("CEILINGS", kLabel) + "the pace each stage alone would allow" + now,
            Tone::kHeading);
  for (std::size_t i = 0; i < std::min(a.ceilings.size(), detail.ceilings); ++i) {
    const Ceiling& c = a.ceilings[i];
    page.line(std::string(kLabel, ' ') + padded(escapeTerminal(c.stage), 11) +
              padded(rateText(c.stepsPerSecond, "steps"), 16) + padded(gapText(c), 9) +
              escapeTerminal(c.limitedBy) + " (" + escapeTerminal(c.basis) + ")");
  }
}

void foot(Page& page, const Analysis& a, const PresentOptions& options, const Detail& detail) {
  trainers(page, a, detail);
  epochs(page, a, detail);
  ceilings(page, a, detail);
  if (a.cost) page.field("COST", kLabel, costText(*a.cost), 1);
  page.blank();
  page.flow("NOT A PROBLEM", 15, a.notAProblem, " | ", detail.listLines);
  page.flow("NOT MEASURED", 15, a.notMeasured, " | ", detail.listLines);
  page.blank();
  page.flow("More", 6, nextCommands(a, options), "   |   ", 3);
}

std::string composed(const Analysis& a, const PresentOptions& options, const Detail& detail,
                     std::size_t& lines) {
  Page page(static_cast<std::size_t>(std::clamp(options.width, 80, 120)), options.colour);
  head(page, a, options, detail);
  stepTime(page, a);
  phases(page, a);
  devices(page, a);
  functions(page, a);
  natives(page, a, detail);
  const std::vector<FindingRow> rows = findingRows(a);
  bottlenecks(page, rows, tieText(a), detail);
  std::size_t unfolded = 0;
  for (const FindingRow& row : rows)
    if (!row.minor && unfolded++ < detail.unfolded) unfold(page, row, options, detail);
  foot(page, a, options, detail);
  lines = page.lines();
  return page.text();
}

}  // namespace

std::string reportText(const Analysis& analysis, const PresentOptions& options) {
  std::string text;
  for (const Detail& detail : kDetails) {
    std::size_t lines = 0;
    text = composed(analysis, options, detail, lines);
    if (lines <= kTextLines) break;
  }
  return text;
}

}  // namespace stallprof
