// SPDX-License-Identifier: MIT
#include "present/words/live_text.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "present/words/wording.h"

namespace stallprof {
namespace {

// A recording is flushed each second; longer silence is worth a word.
constexpr Nanos kSilence = std::chrono::seconds(3);
constexpr int kBarWidth = 30;

std::vector<std::string> paceParts(const Analysis& a, const LiveView& view) {
  std::vector<std::string> parts;
  if (a.steps.ratePerSecond) parts.push_back(rateText(*a.steps.ratePerSecond, "steps"));
  if (a.steps.time) parts.push_back("p50 " + durationText(a.steps.time->p50));
  if (a.steps.count == 0) parts.emplace_back("no steps seen");
  if (view.batches > 0)
    parts.push_back(countText(static_cast<std::int64_t>(view.batches)) + " batches so far");
  return parts;
}

// What the report's own line says, without the pace, which has a line of its own here.
std::vector<std::string> useText(const Analysis& a) {
  std::vector<std::string> parts = useParts(a);
  std::erase_if(parts, [](const std::string& part) { return part.ends_with(" steps/s"); });
  return parts;
}

std::string paddedTo(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::vector<std::string> shareLines(const Breakdown& b) {
  const std::vector<ShareRow> rows = phaseShares(b);
  const std::vector<double> ratios = ratiosOf(rows);
  const std::vector<std::string> texts = tenthTexts(ratios);
  const std::vector<int> bars = apportioned(ratios, kBarWidth);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < rows.size(); ++i)
    lines.push_back("  " + paddedTo(rows[i].name, 12) +
                    std::string(8 - std::min<std::size_t>(8, texts[i].size()), ' ') + texts[i] +
                    "  " + std::string(static_cast<std::size_t>(std::max(bars[i], 0)), '#'));
  if (lines.empty()) lines.emplace_back("  phases are not known yet");
  return lines;
}

std::string stallText(const Analysis& a) {
  if (a.findings.empty()) return "none found in this interval";
  const Finding& first = a.findings[0];
  const std::string share = percentText(first.shareRatio) + " of the time";
  if (a.verdict.healthy.value_or(false)) return "none: " + first.title;
  return first.id + ", " + share + " (" + std::string(nameOf(first.confidence)) +
         " confidence): " + first.title;
}

std::string overheadText(const LiveView& view) {
  std::string text = "recorder " + (view.recorderCpuRatio < 0
                                        ? std::string("not known yet")
                                        : tenthPercentText(view.recorderCpuRatio) + " of one core");
  text += ", " + bytesText(static_cast<double>(view.bytes)) + " recorded";
  if (view.viewCpuRatio >= 0) text += "; this view " + percentText(view.viewCpuRatio);
  return text;
}

std::string stateText(const LiveView& view) {
  if (view.ended) return "ended";
  return view.silent > kSilence ? "no new data for " + durationText(view.silent) : "running";
}

}  // namespace

std::vector<std::string> liveScreen(const Analysis& a, const LiveView& view, int width) {
  std::vector<std::string> lines = {
      "stallprof top   " + view.recording,
      commandText(a.run),
      durationText(view.ran) + ", " + stateText(view),
      "",
      paddedTo("LAST " + durationText(view.span), 12) + joined(paceParts(a, view), "   "),
  };
  for (std::string& line : shareLines(a.breakdown)) lines.push_back(std::move(line));
  if (const auto blame = blameParts(a.breakdown); !blame.empty())
    lines.push_back("  " + joined(blame, ", "));
  lines.insert(lines.end(),
               {"", "TOP STALL   " + stallText(a), "USE         " + joined(useText(a), "   "),
                "COST        " + overheadText(view)});
  for (std::string& line : lines) {
    line = escapeTerminal(line, 1000);
    // By bytes: a character is never cut in two, nor wider than its bytes are many.
    const auto maximum = static_cast<std::size_t>(std::max(width, 4));
    if (line.size() > maximum) line = escapeTerminal(line, maximum - 3);
  }
  return lines;
}

std::string liveLine(const Analysis& a, const LiveView& view) {
  std::vector<std::string> parts = {durationText(view.ran) + " " + stateText(view)};
  const auto pace = paceParts(a, view);
  parts.insert(parts.end(), pace.begin(), pace.end());
  const std::vector<ShareRow> rows = phaseShares(a.breakdown);
  const std::vector<std::string> texts = percentTexts(ratiosOf(rows));
  std::string shares;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].ratio > 0) shares += (shares.empty() ? "" : ", ") + rows[i].name + " " + texts[i];
  if (!shares.empty()) parts.push_back(shares);
  if (!a.findings.empty() && !a.verdict.healthy.value_or(false)) parts.push_back(a.findings[0].id);
  parts.push_back(overheadText(view));
  return escapeTerminal(joined(parts, " | "), 1000);
}

}  // namespace stallprof
