// SPDX-License-Identifier: MIT
#include "experiment/tune_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace stallprof {
namespace {

constexpr double kSameTime = 1.02;       // as the model has it: not worth more processes
constexpr double kSeveralThreads = 1.1;  // cores in use: above it the step has a pool at work
constexpr std::size_t kMaxCounts = 5;
constexpr std::array kLadder = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

bool holds(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

const TuneRun* runOf(const std::vector<TuneRun>& runs, const TuneSetting& setting) {
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [&](const TuneRun& run) { return run.setting == setting; });
  return found == runs.end() ? nullptr : &*found;
}

auto costOf(const TuneRun& run) {
  const TuneSetting& s = run.setting;
  return std::tuple(s.workers, s.prefetch, s.threads);
}

// From `first` on: the one of least cost among those within 2 % of the fastest.
std::size_t cheapest(const std::vector<TuneRun>& runs, std::size_t first) {
  Maybe<double> fastest;
  for (std::size_t i = first; i < runs.size(); ++i)
    if (runs[i].step) fastest = std::min(fastest.value_or(*runs[i].step), *runs[i].step);
  if (!fastest) return 0;
  std::size_t best = runs.size();
  for (std::size_t i = first; i < runs.size(); ++i) {
    if (!runs[i].step || *runs[i].step > *fastest * kSameTime) continue;
    if (i == 0) return 0;
    if (best == runs.size() || costOf(runs[i]) < costOf(runs[best])) best = i;
  }
  return best;
}

// What one worker takes, of the runs there are the most.
double workerBytes(const TuneSpace& space, const std::vector<TuneRun>& runs) {
  Maybe<double> maximum;
  for (const TuneRun& run : runs) {
    const int more = run.setting.workers - space.base.workers;
    if (more == 0 || !run.peakBytes || !runs[0].peakBytes) continue;
    const double each = (*run.peakBytes - *runs[0].peakBytes) / more;
    maximum = std::max(maximum.value_or(0), each);
  }
  return maximum.value_or(space.workerBytes);
}

bool fits(const TuneSpace& space, const std::vector<TuneRun>& runs, const TuneSetting& s) {
  const double more = s.workers - space.base.workers;
  if (space.memory && more > 0 && more * workerBytes(space, runs) > *space.memory) return false;
  const double ready = static_cast<double>(s.workers) * s.prefetch * space.batchBytes;
  return !space.sharedMemory || ready <= *space.sharedMemory;
}

// The neighbours of `at` along one setting that were not run; the likelier one first.
Maybe<TuneSetting> neighbour(const TuneSpace& space, const std::vector<TuneRun>& runs,
                             TuneSetting at, int TuneSetting::*of, const std::vector<int>& values) {
  const auto here = std::find(values.begin(), values.end(), at.*of) - values.begin();
  const auto size = static_cast<std::ptrdiff_t>(values.size());
  std::vector<TuneSetting> beside;
  for (const std::ptrdiff_t i : {here + 1, here - 1})
    if (i >= 0 && i < size) {
      at.*of = values[static_cast<std::size_t>(i)];
      if (at.workers == 0) at.prefetch = space.base.prefetch;
      beside.push_back(at);
    }
  const auto likely = [&](const TuneSetting& s) {
    const auto workers = static_cast<std::size_t>(s.workers);
    return workers < space.gain.size() ? space.gain[workers] : 0;
  };
  std::stable_sort(beside.begin(), beside.end(), [&](const TuneSetting& a, const TuneSetting& b) {
    return likely(a) > likely(b) * kSameTime;
  });
  for (const TuneSetting& setting : beside)
    if (runOf(runs, setting) == nullptr && fits(space, runs, setting)) return setting;
  return {};
}

// Of the runs with the base's other settings: workers are searched first, and alone.
TuneSetting bestByWorkers(const TuneSpace& space, const std::vector<TuneRun>& runs) {
  std::vector<TuneRun> plain;
  for (const TuneRun& run : runs)
    if (run.setting.prefetch == space.base.prefetch && run.setting.threads == space.base.threads)
      plain.push_back(run);
  return plain[bestRun(plain)].setting;
}

}  // namespace

std::vector<int> workerCounts(int base, int guess, int top) {
  std::vector<int> all = {base, guess};
  for (const int count : kLadder)
    if (count <= top) all.push_back(count);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto centre = std::find(all.begin(), all.end(), guess) - all.begin();
  std::vector<int> counts = {guess};
  if (base != guess) counts.push_back(base);
  for (std::ptrdiff_t away = 1; counts.size() < kMaxCounts; ++away) {
    if (away >= static_cast<std::ptrdiff_t>(all.size())) break;
    for (const std::ptrdiff_t i : {centre - away, centre + away}) {
      if (i < 0 || i >= static_cast<std::ptrdiff_t>(all.size())) continue;
      const int count = all[static_cast<std::size_t>(i)];
      if (counts.size() < kMaxCounts && !holds(counts, count)) counts.push_back(count);
    }
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

TuneSpace tuneSpace(const LoaderModel& model, const TuneSetting& base, std::size_t maximum) {
  // A setting is made in every rank.
  const int cores = std::max(1, static_cast<int>(std::floor(model.cores / model.ranks)));
  const int top =
      std::max(base.workers, std::min(model.memoryLimit, std::max(model.limit, 2 * cores)));
  TuneSpace space;
  space.base = base;
  // Without a model, a worker for each core.
  space.guess = model.gain.empty() ? std::min(top, cores) : model.bestWorkers();
  space.workers = workerCounts(base.workers, space.guess, top);
  space.prefetch = base.prefetch <= 2
                       ? std::vector<int>{base.prefetch, 2 * base.prefetch, 4 * base.prefetch}
                       : std::vector<int>{base.prefetch / 2, base.prefetch, 2 * base.prefetch};
  space.threads = {base.threads};
  space.threadsFirst = model.trainerCores > kSeveralThreads;
  for (const int threads : {(cores + 1) / 2, 1})
    if (space.threadsFirst && threads < cores && !holds(space.threads, threads))
      space.threads.push_back(threads);
  space.gain = model.gain;
  space.maximum = maximum;
  space.workerBytes = model.ranks * model.workerBytes;
  space.batchBytes = model.ranks * model.batchBytes;
  space.memory = model.memory;
  space.sharedMemory = model.sharedMemory;
  return space;
}

Maybe<TuneSetting> nextSetting(const TuneSpace& space, const std::vector<TuneRun>& runs) {
  if (runs.empty()) return space.base;
  if (runs.size() >= space.maximum || !runs[0].step) return {};
  TuneSetting guess = space.base;
  guess.workers = space.guess;
  if (runOf(runs, guess) == nullptr && fits(space, runs, guess)) return guess;
  if (auto next =
          neighbour(space, runs, bestByWorkers(space, runs), &TuneSetting::workers, space.workers))
    return next;
  const TuneSetting best = runs[bestRun(runs)].setting;
  const auto threads = [&] {
    return neighbour(space, runs, best, &TuneSetting::threads, space.threads);
  };
  if (space.threadsFirst)
    if (auto next = threads()) return next;
  if (best.workers > 0)
    if (auto next = neighbour(space, runs, best, &TuneSetting::prefetch, space.prefetch))
      return next;
  return threads();
}

std::size_t bestRun(const std::vector<TuneRun>& runs) { return cheapest(runs, 0); }
std::size_t bestOther(const std::vector<TuneRun>& runs) { return cheapest(runs, 1); }

}  // namespace stallprof
