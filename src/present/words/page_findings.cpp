// SPDX-License-Identifier: MIT
#include "present/words/page_findings.h"

#include <algorithm>

#include "present/words/wording.h"

namespace stallprof {
namespace {

constexpr std::size_t kInnerLabel = 13;  // "   evidence  "
// Ours take 4 in the narrowest column; the rest is not ours.
constexpr std::size_t kMaxTitleLines = 12;

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

// What fixing it gains at most, as its row says; where nothing is predicted, its share.
double largestOf(const Finding& f) {
  if (!f.advice.empty() && decided(f.advice[0])) return *f.advice[0].measured;
  const Maybe<double> predicted = shownSpeedup(predictionOf(f));
  return predicted.value_or(f.shareRatio < 1 ? 1 / (1 - f.shareRatio) : 1);
}

// The row whose gain is larger than all others', where that is not the first: a cause within rank 1
// may gain more than it. Null: none is.
const FindingRow* largestGain(const std::vector<FindingRow>& rows) {
  const FindingRow* best = nullptr;
  for (const FindingRow& row : rows)
    if (!row.minor && (!best || largestOf(*row.finding) > largestOf(*best->finding))) best = &row;
  return best == rows.data() ? nullptr : best;
}

// Of `count` places those that are left for others than `largest`; the first finding has one.
std::size_t besideLargest(std::size_t count, const FindingRow* largest) {
  return std::max<std::size_t>(1, count - (largest && count > 0 ? 1 : 0));
}

void bottlenecks(Page& page, const std::vector<FindingRow>& rows, const std::string& ties,
                 const Detail& detail) {
  if (rows.empty()) {
    page.field("BOTTLENECKS", kLabel, "none found");
    return page.blank();
  }
  const FindingTable table(rows, page.width());
  table.heading(page);
  const FindingRow* largest = largestGain(rows);
  const std::size_t places = besideLargest(detail.rows, largest);
  std::size_t shown = 0;
  std::vector<std::string> rest;
  for (const FindingRow& r : rows) {
    if (&r == largest) {
      table.finding(page, r);
    } else if (shown < places && !(r.minor && shown > 0)) {
      ++shown;
      table.finding(page, r);
    } else {
      const bool tried = r.finding->confidence == Confidence::kVerified;
      rest.push_back(r.finding->id + " " + r.share + (tried ? " (" + r.gain + ")" : ""));
    }
  }
  if (!rest.empty()) {
    rest[0] = "also: " + rest[0];
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

constexpr std::size_t kMinPathColumns = 16;

// A place as "function() in " and "file:line"; either may be empty.
struct PlaceParts {
  std::string function, file;
};

PlaceParts partsOf(const SourceLine& line) {
  const std::string whole = escapeTerminal(lineText(line));
  const std::size_t in = line.function.empty() ? std::string::npos : whole.find(" in ");
  const std::size_t length = in == std::string::npos ? 0 : in + 4;
  return {whole.substr(0, length), whole.substr(length)};
}

// "1  id  title" with the place at the right, or below where the title or the place needs the room.
void findingHead(Page& page, const Finding& f) {
  const std::string name = std::to_string(f.rank) + "  " + escapeTerminal(f.id) + "  ";
  const std::size_t half = page.width() / 2, indent = std::min(columnsOf(name), half);
  const bool fits = columnsOf(partsOf(f.where).function) + kMinPathColumns <= half;
  const std::string where = placeText(f.where, fits ? half : page.width() - indent);
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
  return "same as " + std::to_string(before.rank) + " (" + f.advice[0].id + ")" +
         (gain == gainAndBasis(before.advice[0].predicted) ? "" : "   [" + gain + "]");
}

const Finding* sameChangeIn(const std::vector<const Finding*>& shown, const Finding& f) {
  const auto found = std::find_if(shown.begin(), shown.end(), [&](const Finding* other) {
    return !f.advice.empty() && !other->advice.empty() && sameChange(other->advice[0], f.advice[0]);
  });
  return found == shown.end() ? nullptr : *found;
}

// How the first change is tried, and what it risks.
void trial(Page& page, const Advice& first) {
  if (!first.verifyCommand.empty())
    page.command("   check", kInnerLabel, first.verifyCommand,
                 "too long to show here: verify_command of the JSON report");
  if (!first.risk.empty()) page.field("   risk", kInnerLabel, first.risk, Tone::kQuiet);
}

// `before`: a finding above it on the page that the same change fixes; null: none.
void unfold(Page& page, const Finding& f, const Finding* before, const Detail& detail) {
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
  if (!before && !f.advice.empty()) trial(page, f.advice[0]);
  page.blank();
}

}  // namespace

std::string placeText(const SourceLine& line, std::size_t columns) {
  const PlaceParts parts = partsOf(line);
  if (columnsOf(parts.function) + columnsOf(parts.file) <= columns)
    return parts.function + parts.file;
  const std::size_t path = std::min({columnsOf(parts.file), kMinPathColumns, columns});
  const std::string function = cutLeft(parts.function, columns - path);
  return function + cutLeft(parts.file, columns - columnsOf(function));
}

void findings(Page& page, const Analysis& a, const Detail& detail) {
  const std::vector<FindingRow> rows = findingRows(a);
  bottlenecks(page, rows, tieText(a), detail);
  const FindingRow* largest = largestGain(rows);
  std::size_t places = besideLargest(detail.unfolded, largest);
  std::vector<const Finding*> unfolded;
  for (const FindingRow& row : rows) {
    if (row.minor || (&row != largest && places == 0)) continue;
    if (&row != largest) --places;
    unfold(page, *row.finding, sameChangeIn(unfolded, *row.finding), detail);
    unfolded.push_back(row.finding);
  }
}

}  // namespace stallprof
