// SPDX-License-Identifier: MIT
#include "present/words/wording_functions.h"

#include <cmath>

#include "analysis/describe/stack_table.h"
#include "present/words/page.h"

namespace stallprof {
namespace {

constexpr std::size_t kLinesOfPhase = 2;
constexpr double kMin = 0.10;             // of its phase
constexpr std::int64_t kFewSamples = 20;  // about the interval's half being 20 points

// 18 columns of phase and share, then the names.
std::string lineOfFunction(const FunctionInfo& f, bool first) {
  const std::string percent = std::to_string(std::lround(f.phaseRatio * 100)) + " %";
  std::string text = padded(first ? std::string(nameOf(f.phase)) : "", 11) +
                     std::string(percent.size() < 5 ? 5 - percent.size() : 0, ' ') + percent +
                     "  " + nameOf(f.hot);
  const bool own = f.hot.file == f.where.file && f.hot.line == f.where.line;
  if (f.where.known() && !own) text += " called from " + nameOf(f.where);
  if (f.native.known())
    text += " (" + std::to_string(std::lround(f.native.ratio * 100)) + " % of its CPU in " +
            nameOf(f.native) + ")";
  if (f.role == "producer" && f.processes > 1)
    text += ", " + std::to_string(f.processes) + " workers";
  return text;
}

}  // namespace

std::vector<std::string> functionLines(const Analysis& a, std::size_t maximum) {
  std::vector<std::string> lines;
  Phase phase = Phase::kUnknown;
  std::size_t ofPhase = 0;
  for (const FunctionInfo& f : a.functions) {
    if (f.phase != phase) {
      phase = f.phase;
      ofPhase = 0;
    }
    if (f.phase == Phase::kUnknown || f.samples < kFewSamples || f.phaseRatio < kMin) continue;
    if (!f.hot.known() || ofPhase == kLinesOfPhase || lines.size() == maximum) continue;
    lines.push_back(lineOfFunction(f, ofPhase++ == 0));
  }
  return lines;
}

}  // namespace stallprof
