// SPDX-License-Identifier: MIT
#include "analysis/timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/stretches.h"
#include "analysis/told_steps.h"

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
  std::map<std::uint32_t, std::vector<const Timed<OptimizerStep>*>> optimizers;
  for (const auto& row : trace.optimizerSteps)
    if (row.data.thread == line.who.thread) {
      line.updates.push_back(&row);
      optimizers[row.data.optimizer].push_back(&row);
    }
  std::vector<std::pair<std::size_t, std::uint32_t>> order;
  for (const auto& [number, steps] : optimizers) order.emplace_back(steps.size(), number);
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a.first > b.first; });
  Stretches taken;
  std::set<std::uint32_t> alone;
  for (const auto& [count, number] : order) {
    const auto& steps = optimizers[number];
    if (taken.take(steps.front()->at, steps.back()->end())) alone.insert(number);
  }
  for (const auto* step : line.updates)
    if (alone.count(step->data.optimizer) != 0) line.stepping.push_back(step);
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
      pass.firstFetch = i;
    }
    PassSpan& pass = line.passes[at->second];
    line.passOf.push_back(at->second);
    pass.end = std::max(pass.end, fetch.end());
    pass.lastFetch = i;
    if (!fetch.data.end) pass.fetches.push_back(i);
    // A loop may go on after an exception; only what nothing follows is the end.
    if (fetch.data.end && !pass.ended) pass.closing = fetch.at;
    pass.ended = fetch.data.end;
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
  std::unordered_map<std::uint32_t, const LoaderSeen*> loaders;
  for (const auto& row : trace.loaders)
    if (row.data.process == line.who.process) loaders[row.data.loader] = &row.data;
  for (PassSpan& pass : line.passes)
    if (const auto known = loaders.find(pass.loader); known != loaders.end()) {
      pass.hasWorkers = known->second->workers > 0;
      pass.byThreads = madeByThreads(trace.text(known->second->kind));
    }
}

constexpr auto kStepBefore = [](const Timed<OptimizerStep>* step, Nanos t) { return step->at < t; };

}  // namespace

const Timed<OptimizerStep>* TrainerTimeline::firstStep(Nanos begin, Nanos end) const {
  const auto found = std::lower_bound(updates.begin(), updates.end(), begin, kStepBefore);
  return found != updates.end() && (*found)->at < end ? *found : nullptr;
}

const Timed<OptimizerStep>* TrainerTimeline::lastStep(Nanos begin, Nanos end) const {
  const auto after = std::lower_bound(updates.begin(), updates.end(), end, kStepBefore);
  return after != updates.begin() && (*(after - 1))->at >= begin ? *(after - 1) : nullptr;
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

Nanos TrainerTimeline::nextNewPass(Nanos from) const {
  const auto next = std::lower_bound(passes.begin(), passes.end(), from,
                                     [](const PassSpan& pass, Nanos t) { return pass.begin < t; });
  if (next == passes.end()) return Nanos::max();
  return next->iterator >= from ? next->iterator : next->begin;
}

bool TrainerTimeline::madeAhead(const PassSpan& pass) const {
  return pass.firstFetch > 0 && fetches[pass.firstFetch - 1]->at >= pass.iterator;
}

Nanos TrainerTimeline::waitEnd(std::size_t index) const {
  const Timed<Fetch>& fetch = *fetches[index];
  if (!passes[passOf[index]].hasWorkers) return fetch.end();
  if (fetch.data.end) return fetch.at;
  return fetch.end() - std::clamp(fetch.data.cpu, Nanos{}, fetch.data.duration);
}

bool TrainerTimeline::nested(const PassSpan& pass) const {
  return pass.firstFetch > 0 && passes[passOf[pass.firstFetch - 1]].end > pass.end;
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
  line.told = readTold(trace, who.thread);
  return line;
}

}  // namespace stallprof
