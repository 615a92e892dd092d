// SPDX-License-Identifier: MIT
#include "experiment/trial_end.h"

#include <algorithm>

#include "base/interval.h"

namespace stallprof {
namespace {

// Of a core: more than a wait with a timeout takes to ask again every few seconds; the processes of
// a waiting loader all do.
constexpr double kTrainerAwake = 0.001, kJobAwake = 0.02;

// The CPU that a thread had, by its slices in `in`. One that reaches beyond holds more, which may
// be all of it, but where samples of it found the thread running.
double runIn(const ThreadLife& thread, const Interval& in) {
  double run = 0;
  for (const auto& slice : thread.slices) {
    const Interval at = {slice.at, slice.end()};
    if (at.empty() || slice.data.run <= Nanos(0)) continue;
    if (in.contains(at) || slice.data.wait == Wait::kRunning)
      run += seconds(slice.data.run) * seconds(overlap(at, in)) / seconds(at.length());
  }
  return run;
}

bool isStill(const Trace& trace, ThreadId trainer, const Interval& in) {
  const double time = seconds(in.length());
  double job = 0;
  for (const ThreadLife& thread : trace.threads) job += runIn(thread, in);
  return job < kJobAwake * time && runIn(trace.thread(trainer), in) < kTrainerAwake * time;
}

}  // namespace

TrialEnd endOfTrial(const Trace& trace, ThreadId trainer, double windowSeconds) {
  if (trace.optimizerSteps.empty()) return {};
  Nanos first = trace.optimizerSteps.front().at, last = first;
  for (const auto& step : trace.optimizerSteps) {
    first = std::min(first, step.at);
    last = std::max(last, step.end());
  }
  const Nanos due = first + fromSeconds(windowSeconds);
  if (!trace.ends.empty() && trace.ends.back().at < due) return {};
  for (const auto& fetch : trace.fetches) last = std::max(last, fetch.end());
  for (const auto& span : trace.spans)
    if (span.data.phase == Phase::kPeriodic) last = std::max(last, span.end());
  if (last >= due) return {};
  // Neither what the last step left to do, nor what TERM gave it to do.
  constexpr Nanos kMargin = std::chrono::milliseconds(500);
  const Nanos margin = std::min((due - last) / 4, kMargin);
  return {seconds(due - last), isStill(trace, trainer, {last + margin, due - margin})};
}

bool tooSilent(const TrialEnd& end, double asItIs, double windowSeconds) {
  const double usual = std::min(2 * asItIs + 1, windowSeconds / 2);
  return end.silent > std::max(windowSeconds / 4, usual);
}

}  // namespace stallprof
