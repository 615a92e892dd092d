// SPDX-License-Identifier: MIT
#include "experiment/tune_search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/catch.h"

using namespace stallprof;

namespace {

using Surface = std::function<Maybe<double>(const TuneSetting&)>;  // seconds a step

LoaderModel modelOf(double cores, std::vector<double> gain = {}) {
  LoaderModel model;
  model.cores = cores;
  model.limit = gain.empty() ? static_cast<int>(cores) : static_cast<int>(gain.size()) - 1;
  model.memoryLimit = 1000;
  model.gain = std::move(gain);
  return model;
}

std::vector<TuneRun> searched(const TuneSpace& space, const Surface& step,
                              const std::function<double(const TuneSetting&)>& bytes = {}) {
  std::vector<TuneRun> runs;
  while (const auto setting = nextSetting(space, runs)) {
    REQUIRE(runs.size() < 100);
    runs.push_back({*setting, step(*setting), {}});
    if (bytes) runs.back().peakBytes = bytes(*setting);
  }
  return runs;
}

// The step that the search ends with, by the best of the whole grid.
double againstGrid(const TuneSpace& space, const Surface& step) {
  const auto runs = searched(space, step);
  double best = 1e9;
  for (const int workers : space.workers)
    for (const int prefetch : space.prefetch)
      for (const int threads : space.threads)
        best = std::min(best, step({workers, prefetch, threads}).value_or(1e9));
  CHECK(runs.size() * 3 <= space.workers.size() * space.prefetch.size() * space.threads.size());
  return *runs[bestRun(runs)].step / best;
}

// A loader of `make` seconds a batch beside a step of `own`: workers overlap, on so many cores.
Surface pipeline(double make, double own, double cores, double aWorker = 0) {
  return [=](const TuneSetting& s) -> Maybe<double> {
    if (s.workers == 0) return make + own;
    const double ahead = 1 + 0.02 / s.prefetch;
    const double shared = std::max((make + own) / cores, own);
    return std::max(make / s.workers * ahead, shared) + aWorker * s.workers;
  };
}

// The gains that a model would give for it, wrong by `off` a worker.
std::vector<double> gains(const Surface& step, int base, int limit, double off = 0) {
  std::vector<double> gain;
  for (int workers = 0; workers <= limit; ++workers)
    gain.push_back(*step({base, 2, 0}) / *step({workers, 2, 0}) * (1 + off * workers));
  return gain;
}

}  // namespace

TEST_CASE("at most five numbers of workers: the program's, the model's, and those beside that") {
  CHECK(workerCounts(0, 2, 4) == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(workerCounts(0, 8, 16) == std::vector<int>{0, 4, 6, 8, 12});
  CHECK(workerCounts(5, 5, 5) == std::vector<int>{1, 2, 3, 4, 5});
  CHECK(workerCounts(0, 0, 0) == std::vector<int>{0});
  CHECK(workerCounts(100, 4, 16) == std::vector<int>{2, 3, 4, 6, 100});
}

TEST_CASE("a third of the grid is enough for 5 % of its best") {
  struct Case {
    const char* name;
    int base;
    double cores;
    Surface step;
    double off;  // of the model
  };
  const auto ragged = [](const TuneSetting& s) -> Maybe<double> {  // batches of uneven size
    return 0.1 + (s.workers == 0 ? 0.1 : 0.05 / s.workers * (1 + 1.0 / s.prefetch));
  };
  const Case cases[] = {
      {"more workers overlap", 0, 4, pipeline(0.3, 0.1, 4), 0},
      {"one worker is enough", 0, 2, pipeline(0.05, 0.1, 2, 0.001), 0},
      {"a peak at no workers", 2, 2, pipeline(0.001, 0.01, 1, 0.002), 0},
      {"a plateau", 3, 4, pipeline(0.01, 0.1, 4), 0},
      {"the model wants too many", 1, 4, pipeline(0.2, 0.1, 4, 0.004), 0.1},
      {"the model wants too few", 1, 4, pipeline(0.4, 0.05, 4), -0.12},
      {"prefetch counts", 2, 2, ragged, 0},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const int limit = static_cast<int>(c.cores);
    const TuneSpace space =
        tuneSpace(modelOf(c.cores, gains(c.step, c.base, limit, c.off)), {c.base, 2, 0}, 5);
    CHECK(againstGrid(space, c.step) <= 1.05);
  }
}

TEST_CASE("noise of a run does not carry the search away from the program as it is") {
  const TuneSpace space = tuneSpace(modelOf(4, {1, 1, 1, 1, 1}), {2, 2, 0}, 15);
  int seed = 0;
  const auto runs = searched(space, [&](const TuneSetting&) -> Maybe<double> {
    return 0.1 * (1 + 0.008 * std::sin(++seed * 2.3));
  });
  CHECK(bestRun(runs) == 0);
  CHECK(bestOther(runs) > 0);
  CHECK(runs.size() <= 6);  // the model's, two beside it, prefetch
}

TEST_CASE("of settings that are equally fast the one with the fewest workers is the best") {
  const std::vector<TuneRun> runs = {
      {{0, 2, 0}, 0.2, {}}, {{4, 2, 0}, 0.1, {}}, {{2, 2, 0}, 0.101, {}}, {{2, 4, 0}, 0.1005, {}}};
  CHECK(bestRun(runs) == 2);
  CHECK(bestOther({runs[0]}) == 0);
}

TEST_CASE("a search without a model begins with a worker for each core") {
  const TuneSpace space = tuneSpace(modelOf(4), {0, 2, 0}, 5);
  CHECK(space.guess == 4);
  CHECK(nextSetting(space, {}) == TuneSetting{0, 2, 0});
  CHECK(nextSetting(space, {{{0, 2, 0}, 0.1, {}}}) == TuneSetting{4, 2, 0});
}

TEST_CASE("settings that do not fit into the memory are not run") {
  LoaderModel model = modelOf(8);
  model.workerBytes = 1e9;
  model.memory = 3e9;
  const Surface step = pipeline(0.8, 0.05, 8);
  // A worker takes less than was estimated; five of them are too much all the same.
  const auto runs = searched(tuneSpace(model, {1, 2, 0}, 15), step,
                             [](const TuneSetting& s) { return 5e9 + s.workers * 0.7e9; });
  for (const TuneRun& run : runs) CHECK(run.setting.workers <= 5);
  model.memory.reset();
  model.batchBytes = 1e6;
  model.sharedMemory = 9e6;
  for (const TuneRun& run : searched(tuneSpace(model, {1, 2, 0}, 15), step))
    CHECK(run.setting.workers * run.setting.prefetch <= 9);
}

TEST_CASE("ranks of a host share its cores and its memory") {
  LoaderModel model = modelOf(96);
  model.ranks = 8;
  model.trainerCores = 3;
  model.limit = 12;
  model.batchBytes = 1e6;
  model.sharedMemory = 32e6;
  const TuneSpace space = tuneSpace(model, {1, 2, 0}, 15);
  CHECK(space.guess == 12);
  CHECK(space.threads == std::vector<int>{0, 6, 1});
  for (const TuneRun& run : searched(space, pipeline(0.8, 0.05, 8)))
    CHECK(run.setting.workers * run.setting.prefetch <= 4);
}

TEST_CASE("a setting that fails ends the way to it, and a program that fails the search") {
  const TuneSpace space = tuneSpace(modelOf(4, {1, 2, 3, 3.5, 4}), {0, 2, 0}, 5);
  const Surface step = pipeline(0.3, 0.1, 4);
  const auto runs = searched(
      space, [&](const TuneSetting& s) { return s.workers > 3 ? Maybe<double>() : step(s); });
  REQUIRE(bestRun(runs) > 0);
  CHECK(runs[bestRun(runs)].setting.workers <= 3);
  CHECK(searched(space, [](const TuneSetting&) { return Maybe<double>(); }).size() == 1);
}

TEST_CASE("threads are tried where the step keeps more than one core busy") {
  LoaderModel model = modelOf(4, {1, 1.2, 1.4, 1.4, 1.4});
  CHECK(tuneSpace(model, {2, 2, 0}, 5).threads == std::vector<int>{0});
  model.trainerCores = 3;
  const TuneSpace space = tuneSpace(model, {2, 2, 0}, 5);
  CHECK(space.threads == std::vector<int>{0, 2, 1});
  const auto runs = searched(space, [](const TuneSetting& s) -> Maybe<double> {
    return 0.1 + 0.02 * std::abs(s.workers - 2) + (s.threads == 2 ? 0 : 0.05);
  });
  CHECK(runs[bestRun(runs)].setting == TuneSetting{2, 2, 2});
}
