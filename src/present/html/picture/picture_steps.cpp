// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/stats.h"
#include "present/html/picture/picture.h"

namespace stallprof {
namespace {

constexpr std::size_t kMaxBars = 480;  // two pixels each on a usual page
constexpr std::size_t kSlowest = 8;

StripBar barOf(const TrainerFacts& trainer, std::size_t first, std::size_t last) {
  const std::vector<Step>& steps = trainer.steps;
  std::vector<std::size_t> order(last - first + 1);
  std::iota(order.begin(), order.end(), first);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(steps[a].length(), a) < std::pair(steps[b].length(), b);
  });
  StripBar bar;
  const Step& middle = steps[order[order.size() / 2]];
  bar.first = steps[first].number;
  // What was joined after a step stands with it.
  bar.last = (last + 1 < steps.size() ? steps[last + 1].number : trainer.stepCount()) - 1;
  bar.low = steps[order.front()].length();
  bar.high = steps[order.back()].length();
  bar.middle = middle.length();
  bar.split = middle.split;
  return bar;
}

struct Part {
  Nanos time{};
  Hue hue = Hue::kOther;
  const char* why = "";
};

// The largest part of a step, in words.
Part maxOf(const Step& step) {
  const Split& s = step.split;
  const Blame& b = step.blame;
  const std::array<Part, 11> parts = {{{s.compute, Hue::kCompute, "compute"},
                                       {b.extract, Hue::kWait, "waiting for data: extract"},
                                       {b.transform, Hue::kWait, "waiting for data: transform"},
                                       {b.load, Hue::kWait, "waiting for data: load"},
                                       {b.startup, Hue::kWait, "waiting for workers to start"},
                                       {b.unknown, Hue::kWait, "waiting for data: cause unknown"},
                                       {s.load, Hue::kLoad, "load"},
                                       {s.sync, Hue::kSync, "waiting for the device"},
                                       {s.comm, Hue::kComm, "waiting for other ranks"},
                                       {s.periodic, Hue::kPeriodic, "checkpoint, evaluation, log"},
                                       {s.other, Hue::kOther, "trainer time matched by no rule"}}};
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Part& a, const Part& b2) { return a.time < b2.time; });
}

std::vector<SlowStep> slowestOf(const TrainerFacts& trainer) {
  std::vector<std::size_t> all(trainer.steps.size() - trainer.warmup);
  std::iota(all.begin(), all.end(), trainer.warmup);
  std::vector<SlowStep> slowest;
  for (const std::size_t i : trainer.slowest(std::move(all), kSlowest)) {
    const Step& step = trainer.steps[i];
    const Part maximum = maxOf(step);
    slowest.push_back({step.number, step.length(), maximum.hue, maximum.time, maximum.why});
  }
  return slowest;
}

}  // namespace

std::vector<std::size_t> plainSteps(const TrainerFacts& trainer) {
  std::vector<std::size_t> plain, all;
  for (std::size_t i = trainer.warmup; i < trainer.steps.size(); ++i) {
    all.push_back(i);
    if (!trainer.steps[i].boundary) plain.push_back(i);
  }
  return plain.empty() ? all : plain;
}

Strip drawStrip(const TrainerFacts& trainer, Maybe<Nanos> known) {
  Strip strip;
  const std::vector<Step>& steps = trainer.steps;
  strip.steps = trainer.stepCount();
  strip.warmup = trainer.warmup;
  strip.joined = trainer.joined.steps;
  if (steps.empty()) return strip;
  const std::size_t each = (steps.size() + kMaxBars - 1) / kMaxBars;
  for (std::size_t first = 0; first < steps.size(); first += each)
    strip.bars.push_back(barOf(trainer, first, std::min(first + each, steps.size()) - 1));

  std::vector<Nanos> sorted;
  for (std::size_t i = trainer.warmup; i < steps.size(); ++i) sorted.push_back(steps[i].length());
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double q) {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
  };
  if (sorted.empty()) sorted.push_back(steps.back().length());
  std::vector<double> plain;
  for (const std::size_t i : plainSteps(trainer))
    plain.push_back(static_cast<double>(steps[i].length().count()));
  strip.median = known           ? *known
                 : plain.empty() ? sorted.back()
                                 : Nanos(std::llround(median(std::move(plain))));
  // One checkpoint of a minute must not flatten all else: what is above the axis is counted.
  strip.top = std::max({at(0.95) / 4 * 5, strip.median * 2, Nanos(1)});
  Nanos longest{};
  for (const Step& step : steps) longest = std::max(longest, step.length());
  if (longest <= strip.top / 4 * 5) strip.top = longest;
  strip.top += strip.top / 12;
  for (const Step& step : steps) strip.above += step.length() > strip.top;
  strip.slowest = slowestOf(trainer);
  return strip;
}

}  // namespace stallprof
