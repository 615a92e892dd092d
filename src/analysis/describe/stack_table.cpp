// SPDX-License-Identifier: MIT
#include "analysis/describe/stack_table.h"

#include <algorithm>
#include <map>

#include "analysis/facts/source_lines.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxOfPhase = 5;
constexpr double kMinLineShare = 0.005;
constexpr double kMinRowShare = 0.02;  // of a phase's samples: below, a line of noise

}  // namespace

std::vector<LineInfo> lineTable(const Trace& trace, const TrainerFacts& facts) {
  std::vector<LineInfo> table;
  const double all = facts.stacks.trainerTime;
  for (const LoopLineSamples& l : facts.stacks.lines) {
    if (all <= 0 || l.samples.time < kMinLineShare * all) continue;
    const auto& phases = l.samples.seconds;
    const auto largest = std::max_element(phases.begin(), phases.end()) - phases.begin();
    SourceLine where = lineOf(trace, l.frame);
    where.line = trace.stack(l.frame).line;  // of a library's loop, too: its lines are the rows
    table.push_back({std::move(where), static_cast<Phase>(largest), l.samples.time / all});
  }
  std::stable_sort(table.begin(), table.end(),
                   [](const LineInfo& a, const LineInfo& b) { return a.ratio > b.ratio; });
  if (table.size() > kMaxLines) table.resize(kMaxLines);
  std::stable_sort(table.begin(), table.end(), [](const LineInfo& a, const LineInfo& b) {
    return a.where.line < b.where.line;
  });
  return table;
}

std::vector<FunctionInfo> functionTable(const Trace& trace, const TrainerFacts& facts) {
  struct OfPhase {
    double samples = 0, seconds = 0;
    std::size_t listed = 0;
  };
  std::map<Phase, OfPhase> phases;
  for (const FunctionSamples& f : facts.stacks.functions) {
    phases[f.phase].samples += f.samples;
    phases[f.phase].seconds += f.seconds;
  }
  std::vector<FunctionInfo> table;
  for (const FunctionSamples& f : facts.stacks.functions) {
    OfPhase& all = phases[f.phase];
    if (f.samples < kMinRowShare * all.samples || ++all.listed > kMaxOfPhase) continue;
    FunctionInfo info;
    info.phase = f.phase;
    info.rule = f.rule;
    info.role = f.side == Side::kProducer ? "producer" : "trainer";
    SampleSum sum;
    sum.samples = sum.squares = all.samples;
    const Share share = shareOf(all.seconds > 0 ? f.seconds / all.seconds * all.samples : 0, sum);
    info.phaseRatio = share.value;
    info.low = share.low;
    info.high = share.high;
    info.hot = lineOf(trace, f.hot);
    info.where = lineOf(trace, f.user);
    info.samples = static_cast<std::int64_t>(f.samples);
    info.processes = f.processes;
    table.push_back(std::move(info));
  }
  std::stable_sort(table.begin(), table.end(), [](const FunctionInfo& a, const FunctionInfo& b) {
    return a.phase != b.phase ? a.phase < b.phase : a.phaseRatio > b.phaseRatio;
  });
  return table;
}

}  // namespace stallprof
