// SPDX-License-Identifier: MIT
#include "present/words/report_markdown.h"

#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "present/words/tuning_text.h"
#include "present/words/wording.h"
#include "present/words/wording_device.h"
#include "present/words/wording_functions.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMaxListed = 15;  // of functions, of lines

// Inline code. A span of backticks one longer than any inside cannot be closed from inside.
std::string code(std::string_view bytes) {
  const std::string safe = escapeTerminal(bytes, kLongestLine);
  std::size_t longest = 0, run = 0;
  for (const char c : safe) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  return longest == 0 ? fence + safe + fence : fence + " " + safe + " " + fence;
}

// In a table, where the bar ends a cell even within code.
std::string codeCell(std::string_view bytes) {
  std::string out;
  for (const char c : code(bytes)) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

// A fenced block; lines of `text` stay lines, anything else is escaped.
std::string block(const char* language, const std::string& text) {
  std::string body, fence = "```";
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    if (to > from || to < text.size())
      body += escapeTerminal(text.substr(from, to - from), kLongestLine) + "\n";
    from = to + 1;
  }
  while (body.find(fence) != std::string::npos) fence += '`';
  return fence + language + "\n" + body + fence + "\n";
}

void cells(std::string& out, const std::vector<std::string>& row) {
  out += "|";
  for (const std::string& cell : row) out += " " + cell + " |";
  out += "\n";
}

void header(std::string& out, const std::vector<std::string>& row) {
  cells(out, row);
  out += "|";
  for (std::size_t i = 0; i < row.size(); ++i) out += " --- |";
  out += "\n";
}

void bullets(std::string& out, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    // One that is indented is of the same kind as the line before.
    const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
    out += (text > 0 ? "  - " : "- ") + escapeMarkdown(line.substr(text)) + "\n";
  }
}

void sharesTable(std::string& out, const char* title, const std::vector<ShareRow>& shares) {
  if (shares.empty()) return;
  const std::vector<std::string> percents = tenthTexts(ratiosOf(shares));
  out += "\n";
  header(out, {title, "share", ""});
  for (std::size_t i = 0; i < shares.size(); ++i)
    cells(out, {shares[i].name, percents[i], shares[i].note});
}

void findingSection(std::string& out, const Finding& f) {
  out += "\n### " + std::to_string(f.rank) + ". " + escapeMarkdown(f.title) + " (" + code(f.id) +
         ")\n\n";
  if (const std::string where = lineText(f.where); !where.empty())
    out += "Where: " + code(where) + "\n\n";
  if (const std::string hot = lineText(f.hot); !hot.empty()) out += "Hot: " + code(hot) + "\n\n";
  for (const EvidenceItem& e : f.evidence) out += "- " + escapeMarkdown(e.text) + "\n";
  for (const Advice& a : f.advice) {
    out += "\n**" + escapeMarkdown(adviceText(a)) + "**\n";
    if (!a.diff.empty()) out += "\n" + block("diff", a.diff);
    if (a.verifyCommand.size() > kLongestLine)  // a part of a command is another command
      out += "\nCheck: too long to show here, `stallprof report --format json` has it\n";
    else if (!a.verifyCommand.empty())
      out += "\nCheck:\n\n" + block("sh", a.verifyCommand);
    if (!a.risk.empty()) out += "\nRisk: " + escapeMarkdown(a.risk) + "\n";
  }
}

// What `stallprof verify` tried, measured beside predicted.
void triedTable(std::string& out, const Analysis& a) {
  bool any = false;
  for (const Finding& f : a.findings)
    for (const Advice& advice : f.advice) {
      const std::string measured = measuredText(advice);
      if (measured.empty()) continue;
      if (!std::exchange(any, true)) {
        out += "\n";
        header(out, {"finding", "change that was tried", "predicted", "measured"});
      }
      cells(out, {codeCell(f.id), codeCell(advice.id),
                  escapeMarkdown(gainAndBasis(advice.predicted)), measured});
    }
}

void findings(std::string& out, const Analysis& a) {
  out += "\n## Bottlenecks\n\n";
  const std::vector<FindingRow> rows = findingRows(a);
  if (rows.empty()) {
    out += "None found.\n";
    return;
  }
  header(out, {"rank", "finding", "what", "share", "gain if fixed", "confidence"});
  for (const FindingRow& r : rows)
    cells(out, {std::to_string(r.finding->rank), codeCell(r.finding->id),
                escapeMarkdown(r.finding->title), escapeMarkdown(r.share), r.gain, r.confidence});
  triedTable(out, a);
  if (const std::string ties = tieText(a); !ties.empty()) out += "\n" + escapeMarkdown(ties) + "\n";
  for (const FindingRow& r : rows)
    if (!r.minor) findingSection(out, *r.finding);
}

void ceilingTable(std::string& out, const Analysis& a) {
  if (a.ceilings.empty()) return;
  out += "\n## Ceilings\n\nThe pace each stage alone would allow.\n\n";
  header(out, {"stage", "steps/s", "above now", "limited by", "basis"});
  for (const Ceiling& c : a.ceilings)
    cells(out, {escapeMarkdown(c.stage), numberText(c.stepsPerSecond), gapText(c),
                escapeMarkdown(c.limitedBy), escapeMarkdown(c.basis)});
}

void section(std::string& out, const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out += std::string("\n## ") + title + "\n\n";
  bullets(out, lines);
}

void deviceTable(std::string& out, const Analysis& a) {
  std::vector<std::string> lines;
  for (const DeviceLine& line : deviceLines(a)) {
    std::string text = line.name + ":";
    for (std::size_t i = 0; i < line.parts.size(); ++i)
      text += (i == 0 ? " " : ", ") + line.parts[i];
    lines.push_back(std::move(text));
  }
  section(out, "GPU", lines);
}

void nativeTable(std::string& out, const Analysis& a) {
  if (!a.native || a.native->functions.empty()) return;
  out += "\n## Native code\n\nShares of " + nativeHead(*a.native) + ".\n\n";
  header(out, {"class", "function", "share", "under"});
  for (const NativeInfo::Function& f : a.native->functions) {
    if (&f - a.native->functions.data() == kMaxListed) break;
    cells(out, {f.className, codeCell(nameOf(f.leaf)), percentText(f.leaf.ratio),
                f.below.known() ? codeCell(lineText(f.below)) : ""});
  }
}

}  // namespace

std::string reportMarkdown(const Analysis& a, const PresentOptions& options) {
  std::string out = "# stallprof report\n\n";
  out += "**" + escapeMarkdown(verdictText(a)) + "**\n\n";
  for (const std::string& w : warnings(a)) out += "> " + escapeMarkdown(w) + "\n\n";
  std::vector<std::string> head = headline(a);
  out += "- " + code(head[1]) + "\n";
  head.erase(head.begin() + 1);
  if (!options.recording.empty()) out += "- recording " + code(options.recording) + "\n";
  bullets(out, head);
  bullets(out, captureParts(a));
  for (const LoaderInfo& l : a.run.loaders) bullets(out, {loaderText(l)});

  out += "\n## Step time\n\n";
  out += a.steps.count > 0 ? stepTimeText(a.steps) + "\n"
                           : "Steps unknown: no batch, optimizer step or mark was seen.\n";
  sharesTable(out, "the trainer's time", trainerShares(a.breakdown));
  out += "\n";
  bullets(out, useParts(a));

  out += "\n## Where time went\n";
  const std::string scope = ", " + escapeMarkdown(scopeText(lineText(a.breakdown.loop)));
  sharesTable(out, ("phase" + (a.breakdown.scope == "run" ? scope : "")).c_str(),
              phaseShares(a.breakdown));
  const std::string blame = joined(blameParts(a.breakdown), ", ");
  if (!blame.empty()) out += "\n" + escapeMarkdown(blame) + "\n";
  if (!a.breakdown.phase) out += std::string("\n") + kNotMeasuredText + "\n";

  deviceTable(out, a);
  section(out, "Functions", functionLines(a, kMaxListed));
  section(out, "Lines of the loop", loopLines(a, kMaxListed));
  nativeTable(out, a);
  findings(out, a);
  if (a.trainers.size() > 1) {
    std::vector<std::string> lines;
    for (const TrainerInfo& t : a.trainers) lines.push_back(trainerText(t));
    section(out, "Trainers", lines);
  }
  if (a.epochs.size() > 1) {
    // The first ones, cold and warm, and the last.
    std::vector<std::string> lines;
    for (const EpochInfo& e : a.epochs)
      if (lines.size() + 1 < kMaxListed || &e == &a.epochs.back())
        lines.push_back(std::to_string(e.index) + ": " + epochText(e));
    section(out, "Epochs", lines);
  }
  ceilingTable(out, a);
  if (a.tuned) section(out, "Tuned", tuningSummary(*a.tuned));
  if (a.cost) section(out, "Cost", {costText(*a.cost)});
  section(out, "Not a problem", a.notAProblem);
  section(out, "Not measured", a.notMeasured);
  out += "\n## Next\n\n";
  for (const std::string& command : nextCommands(a, options)) out += "- " + code(command) + "\n";
  return out;
}

}  // namespace stallprof
