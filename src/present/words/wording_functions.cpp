// SPDX-License-Identifier: MIT
#include "present/words/wording_functions.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/describe/stack_table.h"
#include "base/units.h"
#include "classify/frames.h"
#include "present/words/page.h"

namespace stallprof {
namespace {

constexpr std::size_t kLinesOfPhase = 2;
constexpr double kMin = 0.10;             // of its phase
constexpr std::int64_t kFewSamples = 20;  // about the interval's half being 20 points
constexpr double kMinNativeShare = 0.02;  // of all samples
constexpr double kWorthSaying = 0.01;     // of spinning, and of the kernel
constexpr std::size_t kClassColumns = 13;

std::string rounded(double ratio) { return std::to_string(std::lround(ratio * 100)) + " %"; }

// 18 columns of phase and share, then the names.
std::string lineOfFunction(const FunctionInfo& f, bool first) {
  std::string text = padded(first ? std::string(nameOf(f.phase)) : "", 11) +
                     rightAligned(rounded(f.phaseRatio), 5) + "  " + nameOf(f.hot);
  const bool own = f.hot.file == f.where.file && f.hot.line == f.where.line;
  if (f.where.known() && !own) text += " called from " + nameOf(f.where);
  if (f.native.known())
    text += " (" + rounded(f.native.ratio) + " of its CPU in " + nameOf(f.native) + ")";
  if (f.role == "producer" && f.processes > 1)
    text += ", " + std::to_string(f.processes) + " workers";
  return text;
}

}  // namespace

std::string shortPlace(const SourceLine& line) {
  const ModulePath module = modulePathOf(line.file.raw());
  return escapeTerminal(module.users ? baseName(module.path) : module.path) + ":" +
         std::to_string(line.line);
}

double elsewhereRatio(double inRows) {
  constexpr double kWorthARow = 0.005;
  return 1 - inRows < kWorthARow ? 0 : 1 - inRows;
}

std::vector<std::string> loopLines(const Analysis& a, std::size_t maximum) {
  std::vector<double> ratios;
  for (const LineInfo& l : a.lines) ratios.push_back(l.ratio);
  std::sort(ratios.begin(), ratios.end(), std::greater<>());
  const double minimum = ratios.size() > maximum && maximum > 0 ? ratios[maximum - 1] : 0;
  std::size_t place = columnsOf(kElsewhere);
  for (const LineInfo& l : a.lines) place = std::max(place, columnsOf(shortPlace(l.where)));
  std::vector<std::string> lines;
  double shown = 0;
  const auto add = [&](std::string_view where, double ratio, const std::string& rest) {
    const double parts[] = {ratio, 1 - ratio};
    lines.push_back("  " + padded(std::string(where), place) +
                    rightAligned(tenthTexts(parts)[0], 8) + rest);
  };
  for (const LineInfo& l : a.lines) {
    if (l.ratio < minimum || lines.size() == maximum) continue;
    shown += l.ratio;
    add(shortPlace(l.where), l.ratio,
        "  " + padded(std::string(nameOf(l.phase)), 11) + escapeTerminal(l.text.raw()));
  }
  if (const double rest = elsewhereRatio(shown); rest > 0 && !lines.empty())
    add(kElsewhere, rest, "");
  return lines;
}

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

std::string nativeHead(const NativeInfo& native) {
  std::string text = countText(native.samples) + " CPU samples";
  if (native.spinRatio >= kWorthSaying)
    text += ", waiting in a spin loop " + rounded(native.spinRatio);
  if (native.kernelRatio && *native.kernelRatio >= kWorthSaying)
    text += ", in the kernel " + rounded(*native.kernelRatio);
  return text;
}

std::vector<std::string> nativeLines(const Analysis& a, std::size_t maximum) {
  std::vector<std::string> lines;
  if (!a.native) return lines;
  for (const NativeInfo::Function& f : a.native->functions) {
    if (lines.size() == maximum || f.leaf.ratio < kMinNativeShare) break;
    std::string line = rightAligned(rounded(f.leaf.ratio), 5) + "  " +
                       padded(f.className, kClassColumns) +
                       (f.leaf.known() ? nameOf(f.leaf) : "(unknown)");
    if (f.below.known()) line += " under " + nameOf(f.below);
    if (f.role == "worker" && f.processes > 1)
      line += ", " + std::to_string(f.processes) + " workers";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stallprof
