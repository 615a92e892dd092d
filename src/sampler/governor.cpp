// SPDX-License-Identifier: MIT
#include "sampler/governor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stallprof {
namespace {

// Between two samples of a thread: a round over 20,000 busy threads takes 60 ms of CPU, a minute at
// 0.1 % of a core.
constexpr Nanos kLongestBetween = std::chrono::seconds(64);
// A second, but for what four intervals may fall short of it.
constexpr double kWhole = 0.95;
// The job's CPU comes once a second, with jitter: it stands still where nothing came for this long.
constexpr double kStill = 1.5;
// Periods: a gap between two samples is at most one and a half, and where none came in twice that
// there is nobody to sample.
constexpr double kUnsampled = 3;
// Seconds. Longer, a costly thread among many that take turns would be known as well, and a pace
// that a burst slowed would come back too late.
constexpr double kLongestRound = 4;
// Levels at once, two octaves: what threads cost that had no turn is not known, and an interval
// without a thread that runs makes samples seem free.
constexpr int kMaxFaster = 8;
constexpr double kRecent = 2 - 0.1;  // seconds, but for what eight intervals may fall short of them

template <std::size_t N>
double median(std::array<double, N> values, std::size_t count) {
  auto* middle = values.data() + count / 2;
  std::nth_element(values.data(), middle, values.data() + count);
  return *middle;
}

}  // namespace

Governor::Governor(Nanos fastest, double share)
    : fastest_(fastest), share_(share), budget_(share) {}

// Levels that lengthen the period up to its longest; those after it divide the threads.
int Governor::slowestLevel() const {
  const double octaves = std::log2(seconds(slowest_) / seconds(fastest_));
  return std::max(static_cast<int>(std::ceil(octaves * kLevelsAnOctave)), 0);
}

Pace Governor::paceOf(int level) const {
  const int lengthened = std::min(level, slowestLevel());
  const auto times = [](int levels) {
    return std::exp2(static_cast<double>(levels) / kLevelsAnOctave);
  };
  const Nanos period(std::llround(static_cast<double>(fastest_.count()) * times(lengthened)));
  return {std::min(period, std::max(slowest_, fastest_)),
          static_cast<unsigned>(std::lround(times(level - lengthened))), budget_, fastest_};
}

double Governor::samplesKept(int level) const {
  const Pace pace = paceOf(level);
  return seconds(fastest_) / seconds(pace.period) / pace.turns;
}

// The fastest level at which samples and rest together are expected below `part` of the budget.
int Governor::levelWithin(double part) const {
  const double samples = this->samples();
  const double allowed = std::max(part * budget_ - rest(), kMin * budget_);
  int level = 0;
  while (paceOf(level).between() < kLongestBetween && samples * samplesKept(level) > allowed)
    ++level;
  return level;
}

double Governor::samples() const {
  std::array<double, kIntervals> latest{};
  std::size_t count = 0;
  double wall = 0;
  while (count < std::min(updates_, kIntervals) && (wall < kRecent || count < kMinIntervals)) {
    const Interval& interval = samples_[(updates_ - 1 - count) % kIntervals];
    wall += interval.wall;
    latest[count++] = interval.samples;
  }
  return median(latest, count);
}

// Nothing until it was measured for three seconds: a start is a burst.
double Governor::rest() const {
  const auto secondBack = [&](std::size_t back) {
    return rest_[(secondUpdates_ + kSeconds - back) % kSeconds];
  };
  return std::min(median(rest_, kSeconds), (secondBack(1) + secondBack(2)) / 2);
}

void Governor::addRest(double wall, double cpu) {
  second_.wall += wall;
  second_.cpu += cpu;
  if (second_.wall < kWhole) return;
  rest_[secondUpdates_++ % kSeconds] = second_.cpu / second_.wall;
  second_ = {};
}

// Each entry ends where something was sampled, so that the intervals between two samples of a slow
// pace are no sign that a sample costs nothing; and is no shorter than a round of threads that take
// turns, of which one may cost more than all others.
bool Governor::addSamples(double wall, double cpu) {
  sampled_.wall += wall;
  sampled_.cpu += cpu;
  const Pace now = pace();
  if (now.turns > 1 && sampled_.wall < std::min(seconds(now.between()), kLongestRound))
    return false;
  if (sampled_.cpu <= 0 && sampled_.wall < kUnsampled * seconds(now.period)) return false;
  const Spent all = std::exchange(sampled_, {});
  samples_[updates_++ % kIntervals] = {all.wall, all.cpu / all.wall / samplesKept(level_)};
  return true;
}

// Each entry ends where the figure grew, so that it holds neither none nor two of its updates.
void Governor::addJob(double wall, double cpu) {
  jobSecond_.wall += wall;
  jobSecond_.cpu += std::max(cpu, 0.0);
  if (jobSecond_.wall < (jobSecond_.cpu > 0 ? kWhole : kStill)) return;
  job_[jobUpdates_++ % kSeconds] = std::exchange(jobSecond_, {});
  Spent all;
  for (const Spent& one : job_) {
    all.wall += one.wall;
    all.cpu += one.cpu;
  }
  const double cores = all.cpu / std::max(all.wall, static_cast<double>(kSeconds));
  budget_ = std::min(share_ * std::max(cores, 1.0), kMaxBudget);
}

Pace Governor::update(Nanos wall, Nanos cpu, Nanos paced, Nanos job, Nanos paused) {
  if (wall <= Nanos::zero()) return pace();
  const double interval = seconds(wall);
  addRest(interval, seconds(std::max(cpu - paced, Nanos::zero())));
  addJob(seconds(wall + paused), seconds(job));
  if (!addSamples(interval, seconds(paced))) return pace();
  const int needed = levelWithin(kHighWatermark), safe = levelWithin(kLowWatermark);
  if (needed > level_) level_ = needed;
  if (safe < level_) level_ = std::max(safe, level_ - kMaxFaster);
  return pace();
}

}  // namespace stallprof
