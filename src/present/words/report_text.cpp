// SPDX-License-Identifier: MIT
#include "present/words/report_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"
#include "present/words/page.h"
#include "present/words/page_detail.h"
#include "present/words/tuning_text.h"
#include "present/words/wording.h"
#include "present/words/wording_device.h"
#include "present/words/wording_functions.h"
#include "present/words/wording_native.h"

namespace stallprof {
namespace {

constexpr std::size_t kLabel = 12;       // "STEP TIME   "
constexpr std::size_t kInnerLabel = 13;  // "   evidence  "
constexpr std::size_t kBar = 50;
constexpr std::size_t kMaxTitleLines =
    12;  // ours take 4 in the narrowest column; the rest is not ours
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

// "decode() in ...per/data/aug.py:12": the end of a path says which file it is.
std::string placeText(const SourceLine& line, std::size_t columns) {
  const std::string whole = escapeTerminal(lineText(line));
  if (columnsOf(whole) <= columns) return whole;
  const std::size_t in = line.function.empty() ? std::string::npos : whole.find(" in ");
  const std::string function = in == std::string::npos ? "" : whole.substr(0, in + 4);
  constexpr std::size_t kMinPath = 16;
  if (columnsOf(function) + kMinPath > columns) return cut(whole, columns);
  return function + cutLeft(whole.substr(function.size()), columns - columnsOf(function));
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

// Widths of the bottlenecks' columns, and how a row of them is put on the page.
class FindingTable {
 public:
  FindingTable(const std::vector<FindingRow>& rows, std::size_t width) {
    for (const FindingRow& row : rows) {
      id_ = std::clamp(columnsOf(escapeTerminal(row.finding->id)), id_, std::size_t{30});
      share_ = std::clamp(columnsOf(escapeTerminal(row.share)), share_, std::size_t{12});
      gain_ = std::clamp(columnsOf(row.gain), gain_, std::size_t{20});  // numbers are never cut
    }
    constexpr std::size_t kConfidence = 10, kMinTitle = 22;
    const std::size_t fixed = 3 + id_ + 2 + share_ + 2 + gain_ + 2 + kConfidence;
    if (width >= fixed + kMinTitle) title_ = width - fixed - 2;
  }

  void heading(Page& page) const {
    page.line(row("BOTTLENECKS", "", "share", "gain if fixed", "confidence"), Tone::kHeading);
  }

  void finding(Page& page, const FindingRow& r) const {
    const Finding& f = *r.finding;
    const std::string name =
        (f.rank < 10 ? " " : "") + std::to_string(f.rank) + " " + escapeTerminal(f.id);
    const std::vector<std::string> title =
        title_ > 0 ? fold(escapeTerminal(f.title), title_, kMaxTitleLines)
                   : std::vector<std::string>{};
    page.line(
        row(name, title.empty() ? "" : title[0], escapeTerminal(r.share), r.gain, r.confidence));
    if (title_ == 0) return page.field("", 3, f.title);  // too narrow for a column: a line below
    for (std::size_t i = 1; i < title.size(); ++i) page.line(std::string(5 + id_, ' ') + title[i]);
  }

 private:
  [[nodiscard]] std::string row(const std::string& name, const std::string& title,
                                const std::string& share, const std::string& gain,
                                const std::string& confidence) const {
    std::string line = padded(name, 3 + id_) + "  ";
    if (title_ > 0) line += padded(title, title_) + "  ";
    return line + padded(share, share_) + "  " + padded(gain, gain_) + "  " + confidence;
  }

  std::size_t id_ = 11, share_ = 5, gain_ = 13, title_ = 0;
};

void bottlenecks(Page& page, const std::vector<FindingRow>& rows, const std::string& ties,
                 const Detail& detail) {
  if (rows.empty()) {
    page.field("BOTTLENECKS", kLabel, "none found");
    return page.blank();
  }
  const FindingTable table(rows, page.width());
  table.heading(page);
  std::size_t shown = 0;
  std::vector<std::string> rest;
  for (const FindingRow& r : rows) {
    if (shown < detail.rows && !(r.minor && shown > 0)) {
      ++shown;
      table.finding(page, r);
    } else {
      const bool tried = r.finding->confidence == Confidence::kVerified;
      rest.push_back(r.finding->id + " " + r.share + (tried ? " (" + r.gain + ")" : ""));
    }
  }
  if (!rest.empty()) {
    rest[0] = "smaller: " + rest[0];
    page.flow("", 3, rest, ", ");
  }
  if (!ties.empty()) page.field("", 3, ties);
  page.blank();
}

void otherAdvice(Page& page, const Advice& advice) {
  const std::string risk = advice.risk.empty() ? "" : "   Risk: " + advice.risk;
  page.field("   or", kInnerLabel, adviceText(advice) + risk, Tone::kQuiet);
}

void firstAdvice(Page& page, const Advice& advice, const Detail& detail) {
  page.field("   change", kInnerLabel, adviceText(advice), Tone::kQuiet);
  std::size_t from = 0;
  for (std::size_t i = 0; i < detail.diffLines && from < advice.diff.size(); ++i) {
    const std::size_t to = std::min(advice.diff.find('\n', from), advice.diff.size());
    const std::string text = advice.diff.substr(from, to - from);
    const Tone tone = text.starts_with('+')   ? Tone::kGood
                      : text.starts_with('-') ? Tone::kBad
                                              : Tone::kPlain;
    const std::size_t indent = std::min(text.find_first_not_of(' '), page.width() / 2);
    page.field("", kInnerLabel + (indent < text.size() ? indent : 0), text, Tone::kPlain, tone);
    from = to + 1;
  }
}

// "1  id  title" with the place at the right, or below where the title needs the room.
void findingHead(Page& page, const Finding& f) {
  const std::string where = placeText(f.where, page.width() / 2);
  const std::string name = std::to_string(f.rank) + "  " + escapeTerminal(f.id) + "  ";
  const std::size_t indent = std::min(columnsOf(name), page.width() / 2);
  std::vector<std::string> title =
      fold(escapeTerminal(f.title), page.width() - indent, kMaxTitleLines);
  if (title.empty()) title.emplace_back();
  title[0] = padded(name, indent) + title[0];
  for (std::size_t i = 1; i < title.size(); ++i) title[i].insert(0, indent, ' ');
  const std::size_t place = page.width() - columnsOf(where);
  if (!where.empty() && columnsOf(title.back()) + 2 > place)
    title.push_back(std::string(indent, ' ') + where);
  else if (!where.empty())
    title.back() = padded(title.back(), place) + where;
  for (const std::string& line : title) page.line(line, Tone::kHeading);
}

// Its gain may differ: another part of the time goes.
std::string changeOf(const Finding& before, const Finding& f) {
  const std::string gain = gainAndBasis(f.advice[0].predicted);
  return "that of " + std::to_string(before.rank) + " (" + f.advice[0].id + ")" +
         (gain == gainAndBasis(before.advice[0].predicted) ? "" : "   [" + gain + "]");
}

const Finding* sameChangeIn(const std::vector<const Finding*>& shown, const Finding& f) {
  const auto found = std::find_if(shown.begin(), shown.end(), [&](const Finding* other) {
    return !f.advice.empty() && !other->advice.empty() && sameChange(other->advice[0], f.advice[0]);
  });
  return found == shown.end() ? nullptr : *found;
}

// How the first change is tried, and what it risks.
void trial(Page& page, const Advice& first, const PresentOptions& options) {
  if (!first.verifyCommand.empty())
    page.command("   check", kInnerLabel, first.verifyCommand,
                 "too long to show here: stallprof report " +
                     quoteShell(options.recording.empty() ? "RECORDING" : options.recording) +
                     " --format md");
  if (!first.risk.empty()) page.field("   risk", kInnerLabel, first.risk, Tone::kQuiet);
}

// `before`: a finding above it on the page that the same change fixes; null: none.
void unfold(Page& page, const Finding& f, const Finding* before, const PresentOptions& options,
            const Detail& detail) {
  findingHead(page, f);
  std::size_t shown = 0;
  for (const EvidenceItem& item : f.evidence) {
    if (shown++ == (f.rank == 1 ? detail.evidence : detail.evidenceOfOthers)) break;
    page.field(shown == 1 ? "   evidence" : "", kInnerLabel, item.text, Tone::kQuiet);
  }
  // A library of which no function is known says nothing that the table above does not.
  if (!f.hot.function.empty() || f.hot.line != 0)
    page.field("   hot", kInnerLabel, placeText(f.hot, page.width() - kInnerLabel), Tone::kQuiet);
  if (before)
    page.field("   change", kInnerLabel, changeOf(*before, f), Tone::kQuiet);
  else if (!f.advice.empty())
    firstAdvice(page, f.advice[0], detail);
  for (std::size_t i = 1; i < std::min(f.advice.size(), detail.advice); ++i)
    otherAdvice(page, f.advice[i]);
  if (!before && !f.advice.empty()) trial(page, f.advice[0], options);
  page.blank();
}

void trainers(Page& page, const Analysis& a, const Detail& detail) {
  if (a.trainers.size() < 2) return;
  const std::size_t shown = std::min(a.trainers.size(), detail.epochs);
  for (std::size_t i = 0; i < shown; ++i)
    page.field(i == 0 ? "TRAINERS" : "", kLabel, trainerText(a.trainers[i]));
  if (shown < a.trainers.size())
    page.field("", kLabel, "and " + std::to_string(a.trainers.size() - shown) + " more");
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

void foot(Page& page, const Analysis& a, const PresentOptions& options, const Detail& detail) {
  trainers(page, a, detail);
  epochs(page, a, detail);
  ceilings(page, a, detail);
  if (a.tuned) {
    std::string text;
    for (const std::string& line : tuningSummary(*a.tuned))
      text += (text.empty() ? "" : " | ") + line;
    page.field("TUNED", kLabel, text);
  }
  if (a.cost) page.field("COST", kLabel, costText(*a.cost));
  page.blank();
  page.flow("NOT A PROBLEM", 15, a.notAProblem, " | ");
  page.flow("NOT MEASURED", 15, a.notMeasured, " | ");
  page.blank();
  page.flow("More", 6, nextCommands(a, options), "   |   ");
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
  const std::vector<FindingRow> rows = findingRows(a);
  bottlenecks(page, rows, tieText(a), detail);
  std::vector<const Finding*> unfolded;
  for (const FindingRow& row : rows) {
    if (row.minor || unfolded.size() == detail.unfolded) continue;
    unfold(page, *row.finding, sameChangeIn(unfolded, *row.finding), options, detail);
    unfolded.push_back(row.finding);
  }
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
