// SPDX-License-Identifier: MIT
#include "analysis/steps/annotated_steps.h"

#include <algorithm>

#include "base/stats.h"

namespace stallprof {
namespace {

int sureness(const StepRange& step) {
  return step.source == SpanSource::kMark ? 2 : static_cast<int>(step.mapped);
}

// The first batch that a loader delivered in it, where the hook knows one.
void nameFetch(const TrainerTimeline& timeline, StepSpan& step) {
  auto fetch = std::lower_bound(timeline.fetches.begin(), timeline.fetches.end(), step.begin,
                                [](const Timed<Fetch>* f, Nanos t) { return f->at < t; });
  for (; fetch != timeline.fetches.end() && (*fetch)->at < step.end; ++fetch) {
    const auto index = static_cast<std::uint32_t>(fetch - timeline.fetches.begin());
    const std::uint32_t epoch = timeline.epochOf[index];
    if ((*fetch)->data.end || !timeline.epochs[epoch].counted) continue;
    step.epoch = epoch;
    step.fetch = index;
    return;
  }
}

}  // namespace

AnnotatedSteps readAnnotated(const Trace& trace, ThreadId thread) {
  std::vector<const Timed<StepRange>*> rows;
  int best = 0;
  for (const auto& row : trace.steps)
    if (row.data.thread == thread) {
      rows.push_back(&row);
      best = std::max(best, sureness(row.data));
    }
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) {
    return a->at != b->at ? a->at < b->at : a->end() > b->end();
  });
  AnnotatedSteps annotated;
  annotated.source = best == 2 ? SpanSource::kMark : SpanSource::kNvtx;
  annotated.sure = best > 0;
  for (const auto* row : rows)
    if (sureness(row->data) == best &&
        (annotated.iterations.empty() || row->at >= annotated.iterations.back().end))
      annotated.iterations.push_back({row->at, row->end()});
  return annotated;
}

std::vector<StepSpan> stepsOfAnnotated(const TrainerTimeline& timeline) {
  const std::vector<Interval>& iterations = timeline.annotated.iterations;
  if (iterations.empty()) return {};
  std::vector<double> lengths;
  for (const Interval& iteration : iterations)
    lengths.push_back(seconds(iteration.end - iteration.begin));
  const double usual = median(lengths);
  std::vector<StepSpan> steps;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const Nanos end = i + 1 < iterations.size() ? iterations[i + 1].begin : iterations[i].end;
    StepSpan step{{iterations[i].begin, end}, 0, -1, seconds(end - iterations[i].end) > usual};
    nameFetch(timeline, step);
    steps.push_back(step);
  }
  steps.front().boundary = true;
  return steps;
}

std::vector<StepSpan> stepsOfPhases(const TrainerTimeline& timeline) {
  std::vector<StepSpan> steps;
  Nanos computed = Nanos::min();  // the end of the latest compute
  bool inStep = false, hasCompute = false;
  Nanos begin{};
  for (const Timed<PhaseSpan>* span : timeline.spans) {
    if (span->data.source == SpanSource::kHook) continue;
    if (span->data.phase == Phase::kCompute) {
      computed = std::max(computed, span->end());
      hasCompute = inStep;
    } else if (isOfData(span->data.phase) && span->at >= computed && (hasCompute || !inStep)) {
      if (inStep) steps.push_back({{begin, span->at}});
      begin = span->at;
      inStep = true;
      hasCompute = false;
    }
  }
  if (inStep && hasCompute) steps.push_back({{begin, std::max(begin, computed)}});
  if (steps.size() < 2) return {};
  steps.front().boundary = true;
  return steps;
}

}  // namespace stallprof
