// SPDX-License-Identifier: MIT
#include "analysis/told_steps.h"

#include <algorithm>

#include "base/stats.h"

namespace stallprof {
namespace {

int sureness(const StepRange& step) {
  return step.source == SpanSource::kMark ? 2 : static_cast<int>(step.mapped);
}

bool isData(Phase phase) {
  return phase == Phase::kExtract || phase == Phase::kTransform || phase == Phase::kLoad;
}

// The first batch that a loader delivered in it, where the hook knows one.
void nameFetch(const TrainerTimeline& line, StepSpan& step) {
  auto fetch = std::lower_bound(line.fetches.begin(), line.fetches.end(), step.begin,
                                [](const Timed<Fetch>* f, Nanos t) { return f->at < t; });
  for (; fetch != line.fetches.end() && (*fetch)->at < step.end; ++fetch) {
    const auto index = static_cast<std::uint32_t>(fetch - line.fetches.begin());
    const std::uint32_t pass = line.passOf[index];
    if ((*fetch)->data.end || !line.passes[pass].counted) continue;
    step.pass = pass, step.fetch = index;
    return;
  }
}

}  // namespace

ToldSteps readTold(const Trace& trace, ThreadId thread) {
  std::vector<const Timed<StepRange>*> rows;
  int best = 0;
  for (const auto& row : trace.steps)
    if (row.data.thread == thread) rows.push_back(&row), best = std::max(best, sureness(row.data));
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) {
    return a->at != b->at ? a->at < b->at : a->end() > b->end();
  });
  ToldSteps told;
  told.source = best == 2 ? SpanSource::kMark : SpanSource::kNvtx;
  told.sure = best > 0;
  for (const auto* row : rows)
    if (sureness(row->data) == best && (told.laps.empty() || row->at >= told.laps.back().end))
      told.laps.push_back({row->at, row->end()});
  return told;
}

std::vector<StepSpan> stepsOfTold(const TrainerTimeline& line) {
  const std::vector<Lap>& laps = line.told.laps;
  if (laps.empty()) return {};
  std::vector<double> lengths;
  for (const Lap& lap : laps) lengths.push_back(seconds(lap.end - lap.begin));
  const double usual = median(lengths);
  std::vector<StepSpan> steps;
  for (std::size_t i = 0; i < laps.size(); ++i) {
    const Nanos end = i + 1 < laps.size() ? laps[i + 1].begin : laps[i].end;
    StepSpan step{laps[i].begin, end, 0, -1, seconds(end - laps[i].end) > usual};
    nameFetch(line, step);
    steps.push_back(step);
  }
  steps.front().boundary = true;
  return steps;
}

std::vector<StepSpan> stepsOfPhases(const TrainerTimeline& line) {
  std::vector<StepSpan> steps;
  Nanos computed = Nanos::min();  // the end of the latest compute
  bool inStep = false, hasCompute = false;
  Nanos begin{};
  for (const Timed<PhaseSpan>* span : line.spans) {
    if (span->data.source == SpanSource::kHook) continue;
    if (span->data.phase == Phase::kCompute) {
      computed = std::max(computed, span->end());
      hasCompute = inStep;
    } else if (isData(span->data.phase) && span->at >= computed && (hasCompute || !inStep)) {
      if (inStep) steps.push_back({begin, span->at, 0, -1, false});
      begin = span->at, inStep = true, hasCompute = false;
    }
  }
  if (inStep && hasCompute) steps.push_back({begin, std::max(begin, computed), 0, -1, false});
  if (steps.size() < 2) return {};
  steps.front().boundary = true;
  return steps;
}

}  // namespace stallprof
