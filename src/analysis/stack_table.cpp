// SPDX-License-Identifier: MIT
#include "analysis/stack_table.h"

#include <algorithm>
#include <array>
#include <map>

#include "analysis/stacks.h"
#include "classify/frames.h"

namespace stallprof {
namespace {

constexpr std::size_t kMostOfPhase = 5;
constexpr double kLeastShare = 0.02;  // of a phase's looks: below, a line of noise

}  // namespace

ThreadId busiestMainThread(const Trace& trace) {
  ThreadId best;
  double most = 0;
  for (const ThreadLife& thread : trace.threads) {
    if (thread.tid == 0 || thread.tid != trace.process(thread.process).pid) continue;
    double looks = 0;
    for (const auto& row : thread.stacks) looks += row.data.looks;
    if (looks > most) most = looks, best = thread.id;
  }
  return best;
}

SourceLine lineOf(const Trace& trace, StackId frame) {
  if (frame.none()) return {};
  const StackSeen& seen = trace.stack(frame);
  const std::string_view file = trace.text(seen.file);
  const Untrusted function(std::string(trace.text(seen.function)));
  if (seen.kind == FrameKind::kNative) return {Untrusted(std::string(baseName(file))), function, 0};
  ModulePath module = modulePathOf(file);
  return {Untrusted(std::move(module.path)), function, module.users ? seen.line : 0};
}

std::string nameOf(const SourceLine& line) {
  const std::string file = escapeTerminal(line.file.raw(), 200);
  const std::string function = escapeTerminal(line.function.raw(), 120);
  if (file.empty()) return function;
  if (line.line == 0) return file + ":" + function;
  return file + ":" + std::to_string(line.line) + (function.empty() ? "" : " " + function);
}

std::vector<FunctionInfo> functionTable(const Trace& trace, const TrainerFacts& facts) {
  struct OfPhase {
    double looks = 0, seconds = 0;
    std::size_t listed = 0;
  };
  std::map<Phase, OfPhase> phases;
  for (const FunctionLooks& f : facts.stacks.functions)
    phases[f.phase].looks += f.looks, phases[f.phase].seconds += f.seconds;
  std::vector<FunctionInfo> table;
  for (const FunctionLooks& f : facts.stacks.functions) {
    OfPhase& all = phases[f.phase];
    if (f.looks < kLeastShare * all.looks || ++all.listed > kMostOfPhase) continue;
    FunctionInfo info;
    info.phase = f.phase, info.rule = f.rule;
    info.role = f.side == Side::kProducer ? "producer" : "trainer";
    LookSum sum;
    sum.looks = sum.squares = all.looks;
    const Share share = shareOf(all.seconds > 0 ? f.seconds / all.seconds * all.looks : 0, sum);
    info.phaseRatio = share.value, info.low = share.low, info.high = share.high;
    info.hot = lineOf(trace, f.hot), info.where = lineOf(trace, f.user);
    info.looks = static_cast<std::int64_t>(f.looks), info.processes = f.processes;
    table.push_back(std::move(info));
  }
  std::stable_sort(table.begin(), table.end(), [](const FunctionInfo& a, const FunctionInfo& b) {
    return a.phase != b.phase ? a.phase < b.phase : a.phaseRatio > b.phaseRatio;
  });
  return table;
}

StackFacts stacksOfRun(const Trace& trace, const StackLabels& labels) {
  TrainerTimeline nobody;
  nobody.who.thread = busiestMainThread(trace);
  nobody.who.process = trace.thread(nobody.who.thread).process;
  if (nobody.who.thread.none()) return {};
  return gatherStacks(trace, labels, nobody, {}, trace.begin, trace.end);
}

}  // namespace stallprof
