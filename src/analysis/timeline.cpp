// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace stallprof {
namespace {

// A loader used inside another's fetch (a data set that holds one) is part of that fetch.
void readFetches(const Trace& trace, TrainerTimeline& line) {
  Nanos done = Nanos::min();
  for (const Timed<Fetch>& fetch : trace.fetches) {
    if (fetch.data.thread != line.who.thread || fetch.at < done) continue;
    line.fetches.push_back(&fetch);
    done = fetch.end();
  }
}

void readOptimizer(const Trace& trace, TrainerTimeline& line) {
  std::map<std::uint32_t, std::size_t> times;
  for (const auto& row : trace.optimizerSteps)
    if (row.data.thread == line.who.thread) ++times[row.data.optimizer];
  if (times.empty()) return;
  const auto most = std::max_element(times.begin(), times.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  for (const auto& row : trace.optimizerSteps)
    if (row.data.thread == line.who.thread && row.data.optimizer == most->first)
      line.stepping.push_back(&row);
}

void readPasses(TrainerTimeline& line) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (std::uint32_t i = 0; i < line.fetches.size(); ++i) {
    const Timed<Fetch>& fetch = *line.fetches[i];
    const std::uint64_t name = std::uint64_t{fetch.data.loader} << 32 | fetch.data.pass;
    const auto [at, isNew] = known.try_emplace(name, line.passes.size());
    if (isNew) {
      PassSpan& pass = line.passes.emplace_back();
      pass.pass = fetch.data.pass, pass.loader = fetch.data.loader;
      pass.begin = pass.iterator = pass.iteratorEnd = fetch.at;
    }
    PassSpan& pass = line.passes[at->second];
    line.passOf.push_back(at->second);
    pass.end = std::max(pass.end, fetch.end());
    if (!fetch.data.end) pass.fetches.push_back(i);
    if (fetch.data.end && !pass.ended) pass.ended = true, pass.closing = fetch.at;
    pass.hasWorkers = pass.hasWorkers || fetch.data.worker >= 0;
  }
}

void readIterators(const Trace& trace, TrainerTimeline& line) {
  std::unordered_map<std::uint64_t, PassSpan*> passes;
  for (PassSpan& pass : line.passes)
    passes.emplace(std::uint64_t{pass.loader} << 32 | pass.pass, &pass);
  for (const auto& row : trace.iterators) {
    if (row.data.thread != line.who.thread) continue;
    const auto found = passes.find(std::uint64_t{row.data.loader} << 32 | row.data.pass);
    if (found == passes.end() || row.at > found->second->begin) continue;
    PassSpan& pass = *found->second;
    pass.key = row.data.key, pass.reused = row.data.reused;
    pass.iterator = row.at, pass.iteratorEnd = std::min(row.end(), pass.begin);
  }
}

void readLoaders(const Trace& trace, TrainerTimeline& line) {
  std::unordered_map<std::uint32_t, bool> workers;
  for (const auto& row : trace.loaders)
    if (row.data.process == line.who.process) workers[row.data.loader] = row.data.workers > 0;
  for (PassSpan& pass : line.passes)
    if (const auto known = workers.find(pass.loader); known != workers.end())
      pass.hasWorkers = known->second;
}

constexpr auto kStepBefore = [](const Timed<OptimizerStep>* step, Nanos t) { return step->at < t; };

}  // namespace

const Timed<OptimizerStep>* TrainerTimeline::firstStep(Nanos begin, Nanos end) const {
  const auto found = std::lower_bound(stepping.begin(), stepping.end(), begin, kStepBefore);
  return found != stepping.end() && (*found)->at < end ? *found : nullptr;
}

const Timed<OptimizerStep>* TrainerTimeline::lastStep(Nanos begin, Nanos end) const {
  const auto after = std::lower_bound(stepping.begin(), stepping.end(), end, kStepBefore);
  return after != stepping.begin() && (*(after - 1))->at >= begin ? *(after - 1) : nullptr;
}

Nanos TrainerTimeline::nextPass(std::uint32_t pass, Nanos from) const {
  auto fetch = std::lower_bound(fetches.begin(), fetches.end(), from,
                                [](const Timed<Fetch>* f, Nanos t) { return f->at < t; });
  while (fetch != fetches.end() &&
         passOf[static_cast<std::size_t>(fetch - fetches.begin())] == pass)
    ++fetch;
  if (fetch == fetches.end()) return Nanos::max();
  const PassSpan& next = passes[passOf[static_cast<std::size_t>(fetch - fetches.begin())]];
  // Its iterator was made before its first fetch; a later fetch of it is its own beginning.
  return next.iterator >= from ? next.iterator : (*fetch)->at;
}

TrainerTimeline readTimeline(const Trace& trace, TrainerIdentity who) {
  TrainerTimeline line;
  line.who = who;
  readFetches(trace, line);
  readOptimizer(trace, line);
  readPasses(line);
  readIterators(trace, line);
  readLoaders(trace, line);
  for (const auto& row : trace.spans)
    if (row.data.thread == who.thread) line.spans.push_back(&row);
  return line;
}

}  // namespace stallprof
