// SPDX-License-Identifier: MIT
#include "analysis/steps.h"

#include <algorithm>
#include <map>

namespace stallprof {
namespace {

// Where a pass no longer can be followed by an optimizer step of its own.
Nanos horizon(const TrainerTimeline& line, std::uint32_t pass) {
  const PassSpan& span = line.passes[pass];
  return span.ended ? span.end : line.nextPass(pass, span.end);
}

void findEvaluation(TrainerTimeline& line) {
  if (line.stepping.empty()) return;
  for (std::uint32_t i = 0; i < line.passes.size(); ++i)
    line.passes[i].evaluation = !line.firstStep(line.passes[i].begin, horizon(line, i));
}

// Loaders by the number of their training fetches, most first; of equals the one used first.
std::vector<std::uint32_t> loadersByUse(const TrainerTimeline& line) {
  std::map<std::uint32_t, std::size_t> fetches;
  std::vector<std::uint32_t> order;
  for (const PassSpan& pass : line.passes) {
    if (pass.evaluation) continue;
    const auto [at, isNew] = fetches.try_emplace(pass.loader, 0);
    if (isNew) order.push_back(pass.loader);
    at->second += pass.fetches.size();
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return fetches[a] > fetches[b]; });
  return order;
}

void countPasses(TrainerTimeline& line) {
  std::map<std::uint32_t, std::vector<PassSpan*>> passes;
  for (PassSpan& pass : line.passes)
    if (!pass.evaluation && !pass.fetches.empty()) passes[pass.loader].push_back(&pass);
  std::map<Nanos, Nanos> taken;  // begin -> end
  for (const std::uint32_t loader : loadersByUse(line)) {
    std::vector<PassSpan*> accepted;
    for (PassSpan* pass : passes[loader]) {
      const auto after = taken.lower_bound(pass->end);
      if (after != taken.begin() && std::prev(after)->second > pass->begin) continue;
      pass->counted = true;
      accepted.push_back(pass);
    }
    for (const PassSpan* pass : accepted) taken.emplace(pass->begin, pass->end);
  }
}

void addPass(const TrainerTimeline& line, std::uint32_t index, std::vector<StepSpan>& steps) {
  const PassSpan& pass = line.passes[index];
  const std::size_t first = steps.size();
  for (std::size_t i = 0; i < pass.fetches.size(); ++i) {
    StepSpan step{line.fetches[pass.fetches[i]]->at, {}, index, pass.fetches[i], false};
    if (i + 1 < pass.fetches.size()) {
      step.end = line.fetches[pass.fetches[i + 1]]->at;
    } else if (pass.ended && pass.closing > step.begin) {
      step.end = pass.closing;
    } else {
      const auto* last = line.lastStep(step.begin, horizon(line, index));
      if (!last) continue;
      step.end = last->end();
    }
    steps.push_back(step);
  }
  if (steps.size() == first) return;
  steps[first].boundary = steps.back().boundary = true;
}

std::vector<StepSpan> stepsOfLoader(const TrainerTimeline& line) {
  std::vector<StepSpan> steps;
  for (std::uint32_t i = 0; i < line.passes.size(); ++i)
    if (line.passes[i].counted) addPass(line, i, steps);
  std::sort(steps.begin(), steps.end(),
            [](const StepSpan& a, const StepSpan& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < steps.size(); ++i)
    steps[i - 1].end = std::min(steps[i - 1].end, steps[i].begin);
  return steps;
}

// From the end of one optimizer step to the end of the next; what was before the first is unknown.
std::vector<StepSpan> stepsOfOptimizer(const TrainerTimeline& line) {
  std::vector<StepSpan> steps;
  Nanos from = Nanos::min();
  for (const Timed<OptimizerStep>* step : line.stepping) {
    if (step->end() <= from) continue;
    steps.push_back({std::max(from, steps.empty() ? step->at : from), step->end(), 0, -1, false});
    from = step->end();
  }
  if (!steps.empty()) steps.front().boundary = true;
  return steps;
}

}  // namespace

std::size_t warmupSteps(const std::vector<StepSpan>& steps) {
  constexpr std::size_t kSteps = 10;
  constexpr Nanos kTime = std::chrono::seconds(5);
  if (steps.empty()) return 0;
  const Nanos until = steps.front().begin + kTime;
  const auto timed = std::lower_bound(steps.begin(), steps.end(), until,
                                      [](const StepSpan& s, Nanos t) { return s.begin < t; });
  const auto byTime = static_cast<std::size_t>(timed - steps.begin());
  return std::min(std::max(kSteps, byTime), steps.size() * 3 / 10);
}

StepPlan planSteps(const Trace& trace, TrainerTimeline& line) {
  findEvaluation(line);
  countPasses(line);
  StepPlan plan;
  plan.steps = stepsOfLoader(line);
  plan.source = StepSource::kHook;
  if (plan.steps.empty()) {
    plan.steps = stepsOfOptimizer(line);
    plan.source = StepSource::kOptimizer;
  }
  if (plan.steps.empty()) {
    plan.source = StepSource::kNone;
    plan.windowBegin = trace.begin, plan.windowEnd = trace.end;
    return plan;
  }
  plan.warmup = warmupSteps(plan.steps);
  plan.windowBegin = plan.steps[plan.warmup].begin;
  plan.windowEnd = plan.steps.back().end;
  return plan;
}

}  // namespace stallprof
