// SPDX-License-Identifier: MIT
#include "analysis/steps/steps.h"

#include <algorithm>
#include <map>

#include "analysis/steps/annotated_steps.h"
#include "base/stats.h"

namespace stallprof {
namespace {

// The update that an epoch made of its batches, or null: begun before anything else was fetched.
const Timed<OptimizerStep>* updateOf(const TrainerTimeline& timeline, const EpochSpan& epoch,
                                     std::uint32_t index) {
  // Inside another epoch (an evaluation amid an epoch) an update that follows is of the batch which
  // that one fetched before. One batch of an iterator that is not used up goes beside it (zipped).
  const bool withinItself = timeline.nested(epoch) && (epoch.ended || epoch.fetches.size() > 1);
  return timeline.firstStep(epoch.begin,
                            withinItself ? epoch.end : timeline.nextEpoch(index, epoch.end));
}

// An epoch from eval() to train() is evaluation whatever follows it: where the training's own
// loader is not seen, that is an update. One batch that is fetched there may be to train on. Where
// no update is known, epochs outside of eval() train; where there are none of those, all do.
void findEvaluation(const Trace& trace, TrainerTimeline& timeline) {
  const bool updates = !timeline.updates.empty() || timeline.before.updates;
  const Intervals modes = evaluationsOf(trace, timeline.who.thread);
  if (!updates && modes.empty()) return;
  bool trains = updates || timeline.before.steps > 0;
  for (std::uint32_t i = 0; i < timeline.epochs.size(); ++i) {
    EpochSpan& epoch = timeline.epochs[i];
    const bool inMode = (epoch.ended || epoch.fetches.size() > 1) &&
                        containsAny(modes, epoch.begin) &&
                        lengthIn(modes, {epoch.begin, epoch.end}) == epoch.end - epoch.begin;
    epoch.evaluation =
        !epoch.fetches.empty() && (inMode || (updates && !updateOf(timeline, epoch, i)));
    // One batch may be fetched to see its shape.
    trains = trains || (!epoch.evaluation && epoch.fetches.size() > 1);
  }
  if (!trains)
    for (EpochSpan& epoch : timeline.epochs) epoch.evaluation = false;
}

// Loaders by the number of their training fetches, most first; of those that are zipped, which have
// as many but for the last, first the one that is waited for; of equals the one used first.
std::vector<std::uint32_t> loadersByUse(const TrainerTimeline& timeline) {
  std::map<std::uint32_t, std::size_t> fetches;
  std::map<std::uint32_t, Nanos> time;
  std::vector<std::uint32_t> order;
  for (const EpochSpan& epoch : timeline.epochs) {
    if (epoch.evaluation) continue;
    const auto before = timeline.before.fetches.find(epoch.loader);
    const auto [at, isNew] = fetches.try_emplace(
        epoch.loader, before == timeline.before.fetches.end() ? 0 : before->second);
    if (isNew) order.push_back(epoch.loader);
    at->second += epoch.fetches.size();
    for (const std::uint32_t fetch : epoch.fetches)
      time[epoch.loader] += timeline.fetches[fetch]->data.duration;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return fetches[a] > fetches[b]; });
  if (order.empty()) return order;
  const auto fewer = std::find_if(order.begin(), order.end(), [&](auto loader) {
    return 10 * fetches[loader] < 9 * fetches[order[0]];
  });
  const auto longest =
      std::max_element(order.begin(), fewer, [&](auto a, auto b) { return time[a] < time[b]; });
  std::rotate(order.begin(), longest, longest + 1);
  return order;
}

void countEpochs(TrainerTimeline& timeline) {
  std::map<std::uint32_t, std::vector<EpochSpan*>> epochs;
  for (EpochSpan& epoch : timeline.epochs)
    if (!epoch.evaluation && !epoch.fetches.empty()) epochs[epoch.loader].push_back(&epoch);
  DisjointIntervals taken;
  for (const std::uint32_t loader : loadersByUse(timeline)) {
    // One loader may be zipped with itself, too: of epochs that overlap the longer counts.
    std::stable_sort(epochs[loader].begin(), epochs[loader].end(),
                     [](auto* a, auto* b) { return a->fetches.size() > b->fetches.size(); });
    for (EpochSpan* epoch : epochs[loader]) epoch->counted = taken.take(epoch->begin, epoch->end);
  }
}

void addEpoch(const TrainerTimeline& timeline, std::uint32_t index, std::vector<StepSpan>& steps) {
  const EpochSpan& epoch = timeline.epochs[index];
  const std::size_t first = steps.size();
  for (std::size_t i = 0; i < epoch.fetches.size(); ++i) {
    StepSpan step{{timeline.fetches[epoch.fetches[i]]->at, {}}, index, epoch.fetches[i], false};
    if (i + 1 < epoch.fetches.size()) {
      step.end = timeline.fetches[epoch.fetches[i + 1]]->at;
    } else if (epoch.ended && epoch.closing > step.begin) {
      step.end = epoch.closing;
    } else {
      const auto* last = timeline.lastStep(step.begin, timeline.nextNewEpoch(epoch.end));
      if (!last) continue;
      step.end = last->end();
    }
    steps.push_back(step);
  }
  if (steps.size() == first) return;
  steps[first].boundary = steps.back().boundary = true;
}

std::vector<StepSpan> stepsOfLoader(const TrainerTimeline& timeline) {
  std::vector<StepSpan> steps;
  for (std::uint32_t i = 0; i < timeline.epochs.size(); ++i)
    if (timeline.epochs[i].counted) addEpoch(timeline, i, steps);
  std::sort(steps.begin(), steps.end(),
            [](const StepSpan& a, const StepSpan& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < steps.size(); ++i)
    steps[i - 1].end = std::min(steps[i - 1].end, steps[i].begin);
  return steps;
}

// From the end of one optimizer step to the end of the next; what was before the first is unknown.
// A call that is many steps is timed as a whole: they are taken as equal.
std::vector<StepSpan> stepsOfOptimizer(const TrainerTimeline& timeline) {
  constexpr Nanos::rep kMaxInOne = 65536;
  constexpr std::size_t kMaxDivided = 1u << 22;
  std::vector<StepSpan> steps;
  Nanos from = Nanos::min();
  for (const Timed<OptimizerStep>* step : timeline.stepping) {
    if (step->end() <= from) continue;
    Nanos begin = steps.empty() ? step->at : from;
    const Nanos::rep parts = steps.size() < kMaxDivided ? step->data.steps : 1;
    const Nanos call = std::max(begin, step->at), length = step->end() - call;
    for (Nanos::rep i = 1; i < std::min(parts, kMaxInOne); ++i) {
      const Nanos end = call + length / parts * i;
      if (end > begin) steps.push_back({{begin, end}});
      begin = std::max(begin, end);
    }
    steps.push_back({{begin, step->end()}});
    from = step->end();
  }
  if (!steps.empty()) steps.front().boundary = true;
  return steps;
}

// Whether most of a training is of no batch that was fetched: behind the last one (itertools.cycle
// gives those of the first pass again), or many updates to one. Such a batch was fetched to see its
// shape, or is all of the data; the training gets its own where nobody sees it, as Keras' fit does.
bool goOnWithout(const std::vector<StepSpan>& batches, const std::vector<StepSpan>& updates) {
  constexpr std::size_t kSurely = 20;  // updates: more than a loop makes of a batch
  if (batches.empty() || updates.empty()) return false;
  const auto begunBy = [&](Nanos time) {
    return static_cast<std::size_t>(
        std::lower_bound(updates.begin(), updates.end(), time,
                         [](const StepSpan& update, Nanos t) { return update.begin < t; }) -
        updates.begin());
  };
  std::size_t alone = updates.size() - begunBy(batches.back().end);
  if (alone < kSurely) alone = 0;
  for (const StepSpan& batch : batches) {
    const std::size_t of = begunBy(batch.end) - begunBy(batch.begin);
    if (of >= kSurely) alone += of - 1;
  }
  return alone > 2 * (updates.size() - alone);
}

// An iteration much longer than the others holds more than a step: an epoch's end, a checkpoint.
std::vector<StepSpan> stepsOfIterations(const TrainerTimeline& timeline) {
  if (timeline.iterations.empty()) return {};
  std::vector<double> lengths;
  for (const Interval& iteration : timeline.iterations)
    lengths.push_back(seconds(iteration.length()));
  const double maximum = (1 + kEvenWithin) * median(lengths);
  std::vector<StepSpan> steps;
  for (std::size_t i = 0; i < timeline.iterations.size(); ++i)
    steps.push_back({timeline.iterations[i], 0, -1, lengths[i] > maximum});
  steps.front().boundary = true;
  return steps;
}

StepSource sourceOf(SpanSource source) {
  return source == SpanSource::kMark ? StepSource::kMarks : StepSource::kNvtx;
}

StepSource phasesSource(const TrainerTimeline& timeline) {
  const bool marks =
      std::any_of(timeline.spans.begin(), timeline.spans.end(),
                  [](const auto* span) { return span->data.source == SpanSource::kMark; });
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

namespace {

// When a loader began to give its first batches again (`run --replay`); Nanos::min(): none did.
Nanos replayBegin(const Trace& trace) {
  for (const auto& row : trace.settings)
    if (trace.text(row.data.name) == "replay") return row.at;
  return Nanos::min();
}

// Batches before the first update that are far more than an update takes: a resumed training skips
// those that it had. Where the first that it trains on is fetched; Nanos::min(): none are skipped.
Nanos trainedBegin(const TrainerTimeline& timeline, const StepPlan& plan) {
  constexpr std::size_t kSurely = 20;
  if (plan.source != StepSource::kHook || timeline.updates.empty() || timeline.before.updates)
    return Nanos::min();
  const Nanos first = timeline.updates.front()->at;
  const auto after =
      std::lower_bound(plan.steps.begin(), plan.steps.end(), first,
                       [](const StepSpan& step, Nanos update) { return step.end <= update; });
  const auto skipped = static_cast<std::size_t>(after - plan.steps.begin());
  const std::size_t each =
      (plan.steps.size() - skipped + timeline.updates.size() - 1) / timeline.updates.size();
  if (skipped < kSurely || skipped <= 2 * each) return Nanos::min();
  return plan.steps[skipped - (each > 0 ? each - 1 : 0)].begin;
}

// Where gradients accumulate the window begins with the first batch of an update: a part of one has
// steps without the time of their update. Unless updates are so rare that it takes half of the
// steps.
std::size_t afterUpdate(const TrainerTimeline& timeline, const StepPlan& plan, std::size_t warmup) {
  if (warmup == 0 || 2 * timeline.updates.size() > plan.steps.size()) return warmup;
  for (std::size_t i = warmup; i <= plan.steps.size() / 2; ++i)
    if (timeline.firstStep(plan.steps[i - 1].begin, plan.steps[i - 1].end) != nullptr) return i;
  return warmup;
}

// Steps before a replay are none of it, nor are batches that are skipped; the first ones of what
// follows warm up as a run's do.
std::size_t warmupOf(const TrainerTimeline& timeline, const StepPlan& plan) {
  const Nanos begin = std::max(plan.replayed, trainedBegin(timeline, plan));
  const auto first = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [&](const StepSpan& step) { return step.begin >= begin; });
  return afterUpdate(timeline, plan,
                     static_cast<std::size_t>(first - plan.steps.begin()) +
                         warmupSteps({first, plan.steps.end()}));
}

}  // namespace

StepPlan planSteps(const Trace& trace, TrainerTimeline& timeline) {
  findEvaluation(trace, timeline);
  countEpochs(timeline);
  StepPlan plan;
  const auto take = [&](std::vector<StepSpan> steps, StepSource source, bool annotated) {
    if (plan.steps.empty() && !steps.empty()) {
      plan.steps = std::move(steps);
      plan.source = source;
      plan.annotated = annotated;
    }
  };
  if (timeline.annotated.sure)
    take(stepsOfAnnotated(timeline), sourceOf(timeline.annotated.source), true);
  if (plan.steps.empty()) {
    std::vector<StepSpan> batches = stepsOfLoader(timeline), updates = stepsOfOptimizer(timeline);
    if (goOnWithout(batches, updates)) take(std::move(updates), StepSource::kOptimizer, false);
    take(std::move(batches), StepSource::kHook, false);
  }
  if (plan.steps.empty())
    take(stepsOfAnnotated(timeline), sourceOf(timeline.annotated.source), true);
  if (plan.steps.empty()) take(stepsOfOptimizer(timeline), StepSource::kOptimizer, false);
  if (plan.steps.empty()) take(stepsOfPhases(timeline), phasesSource(timeline), true);
  if (plan.steps.empty()) take(stepsOfIterations(timeline), StepSource::kInferred, false);
  if (plan.steps.empty()) {
    plan.window = {trace.begin, trace.end};
    return plan;
  }
  plan.replayed = replayBegin(trace);
  plan.warmup = std::min(warmupOf(timeline, plan), plan.steps.size() - 1);
  plan.window = {plan.steps[plan.warmup].begin, plan.steps.back().end};
  return plan;
}

void keepPart(const TrainerTimeline& timeline, Nanos end, StepPlan& plan) {
  if (plan.steps.empty()) return;
  const bool goesOn = plan.steps.back().begin >= end;
  std::erase_if(plan.steps, [&](const StepSpan& step) {
    return step.begin < timeline.before.windowEnd || step.begin >= end;
  });
  plan.warmup = timeline.before.steps > 0 ? 0 : warmupOf(timeline, plan);
  if (plan.steps.empty()) return;
  plan.warmup = std::min(plan.warmup, plan.steps.size() - 1);
  plan.window.begin =
      timeline.before.steps > 0 ? timeline.before.windowEnd : plan.steps[plan.warmup].begin;
  plan.window.end = goesOn ? end : plan.steps.back().end;
}

}  // namespace stallprof
