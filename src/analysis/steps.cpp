// SPDX-License-Identifier: MIT
#include "analysis/steps.h"

#include <algorithm>
#include <map>

#include "analysis/stretches.h"
#include "analysis/told_steps.h"
#include "base/stats.h"

namespace stallprof {
namespace {

// The update that a pass made of its batches, or null: begun before anything else was fetched.
const Timed<OptimizerStep>* updateOf(const TrainerTimeline& line, const PassSpan& pass,
                                     std::uint32_t index) {
  // Inside another pass (an evaluation amid an epoch) an update that follows is of the batch which
  // that one fetched before. One batch of an iterator that is not used up goes beside it (zipped).
  const bool withinItself = line.nested(pass) && (pass.ended || pass.fetches.size() > 1);
  return line.firstStep(pass.begin, withinItself ? pass.end : line.nextPass(index, pass.end));
}

void findEvaluation(TrainerTimeline& line) {
  if (line.updates.empty() && !line.before.updates) return;
  for (std::uint32_t i = 0; i < line.passes.size(); ++i)
    line.passes[i].evaluation = !updateOf(line, line.passes[i], i);
}

// Loaders by the number of their training fetches, most first; of equals the one used first.
std::vector<std::uint32_t> loadersByUse(const TrainerTimeline& line) {
  std::map<std::uint32_t, std::size_t> fetches;
  std::vector<std::uint32_t> order;
  for (const PassSpan& pass : line.passes) {
    if (pass.evaluation) continue;
    const auto before = line.before.fetches.find(pass.loader);
    const auto [at, isNew] =
        fetches.try_emplace(pass.loader, before == line.before.fetches.end() ? 0 : before->second);
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
  Stretches taken;
  for (const std::uint32_t loader : loadersByUse(line)) {
    // One loader may be zipped with itself, too: of passes that overlap the longer counts.
    std::stable_sort(passes[loader].begin(), passes[loader].end(),
                     [](auto* a, auto* b) { return a->fetches.size() > b->fetches.size(); });
    for (PassSpan* pass : passes[loader]) pass->counted = taken.take(pass->begin, pass->end);
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
      const auto* last = line.lastStep(step.begin, line.nextNewPass(pass.end));
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
// A call that is many steps is timed as a whole: they are told as equals.
std::vector<StepSpan> stepsOfOptimizer(const TrainerTimeline& line) {
  constexpr Nanos::rep kMostInOne = 65536;
  constexpr std::size_t kMostDivided = 1u << 22;
  std::vector<StepSpan> steps;
  Nanos from = Nanos::min();
  for (const Timed<OptimizerStep>* step : line.stepping) {
    if (step->end() <= from) continue;
    Nanos begin = steps.empty() ? step->at : from;
    const Nanos::rep parts = steps.size() < kMostDivided ? step->data.steps : 1;
    const Nanos call = std::max(begin, step->at), length = step->end() - call;
    for (Nanos::rep i = 1; i < std::min(parts, kMostInOne); ++i) {
      const Nanos end = call + length / parts * i;
      if (end > begin) steps.push_back({begin, end, 0, -1, false});
      begin = std::max(begin, end);
    }
    steps.push_back({begin, step->end(), 0, -1, false});
    from = step->end();
  }
  if (!steps.empty()) steps.front().boundary = true;
  return steps;
}

// A lap much longer than the others holds more than a step: an epoch's end, a checkpoint.
std::vector<StepSpan> stepsOfLaps(const TrainerTimeline& line) {
  if (line.laps.empty()) return {};
  std::vector<double> lengths;
  for (const Lap& lap : line.laps) lengths.push_back(seconds(lap.end - lap.begin));
  const double most = (1 + kEvenWithin) * median(lengths);
  std::vector<StepSpan> steps;
  for (std::size_t i = 0; i < line.laps.size(); ++i)
    steps.push_back({line.laps[i].begin, line.laps[i].end, 0, -1, lengths[i] > most});
  steps.front().boundary = true;
  return steps;
}

StepSource sourceOf(SpanSource source) {
  return source == SpanSource::kMark ? StepSource::kMarks : StepSource::kNvtx;
}

StepSource phasesSource(const TrainerTimeline& line) {
  const bool marks = std::any_of(line.spans.begin(), line.spans.end(), [](const auto* span) {
    return span->data.source == SpanSource::kMark;
  });
  return sourceOf(marks ? SpanSource::kMark : SpanSource::kNvtx);
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
  const auto take = [&](std::vector<StepSpan> steps, StepSource source, bool told) {
    if (plan.steps.empty() && !steps.empty())
      plan.steps = std::move(steps), plan.source = source, plan.told = told;
  };
  if (line.told.sure) take(stepsOfTold(line), sourceOf(line.told.source), true);
  if (plan.steps.empty()) take(stepsOfLoader(line), StepSource::kHook, false);
  if (plan.steps.empty()) take(stepsOfTold(line), sourceOf(line.told.source), true);
  if (plan.steps.empty()) take(stepsOfOptimizer(line), StepSource::kOptimizer, false);
  if (plan.steps.empty()) take(stepsOfPhases(line), phasesSource(line), true);
  if (plan.steps.empty()) take(stepsOfLaps(line), StepSource::kInferred, false);
  if (plan.steps.empty()) {
    plan.windowBegin = trace.begin, plan.windowEnd = trace.end;
    return plan;
  }
  plan.warmup = warmupSteps(plan.steps);
  plan.windowBegin = plan.steps[plan.warmup].begin;
  plan.windowEnd = plan.steps.back().end;
  return plan;
}

void keepPart(const TrainerTimeline& line, Nanos end, StepPlan& plan) {
  if (plan.steps.empty()) return;
  const bool goesOn = plan.steps.back().begin >= end;
  std::erase_if(plan.steps, [&](const StepSpan& step) {
    return step.begin < line.before.windowEnd || step.begin >= end;
  });
  plan.warmup = line.before.steps > 0 ? 0 : warmupSteps(plan.steps);
  if (plan.steps.empty()) return;
  plan.windowBegin = line.before.steps > 0 ? line.before.windowEnd : plan.steps[plan.warmup].begin;
  plan.windowEnd = goesOn ? end : plan.steps.back().end;
}

}  // namespace stallprof
