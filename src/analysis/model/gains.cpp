// SPDX-License-Identifier: MIT
#include "analysis/model/gains.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/stats.h"

namespace stallprof {
namespace {

constexpr double kLargestGap = 0.15;  // |measured / modelled - 1|: beyond it the model is wrong
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr std::size_t kDraws = 4;  // more of the same are a third of an input's time
#else
constexpr std::size_t kDraws = 40;  // two draws beyond each of the 5 % and 95 % quantiles
#endif
constexpr std::size_t kDrawsToChoose = 5;  // to compare settings on common draws
constexpr std::size_t kStepsADraw = 400;   // 40 draws of 400 steps cost about 2 ms a setting
// Neighbours in a block keep their correlation: at most 20 steps, and a fifth of what there is, as
// draws of fewer blocks than five hardly differ.
constexpr std::size_t kBlock = 20, kMinBlocks = 5;
constexpr std::uint64_t kSeed = 20261121;

double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

}  // namespace

double coresLeft(double cores, double external) {
  return std::max(0.25, cores * (1 - std::clamp(external, 0.0, 0.95)));
}

Gains::Gains(Workload workload, PipelineSettings base, double measured, double external)
    : workload_(std::move(workload)),
      base_(base),
      demand_(demandOf(workload_)),
      measured_(measured),
      external_(external) {
  const std::size_t have = std::min(workload_.batches.size(), workload_.steps.size());
  if (have == 0 || measured_ <= 0) return;
  const std::size_t steps = std::clamp<std::size_t>(have, 60, kStepsADraw);
  const std::size_t block = std::clamp<std::size_t>(have / kMinBlocks, 1, kBlock);
  for (std::size_t i = 0; i < kDraws; ++i)
    draws_.push_back(drawBlocks(have, steps, block, kSeed + i));
  baseTimes_ = play(base_, kDraws);
  const double modelled = sum(baseTimes_) / static_cast<double>(kDraws);
  if (modelled <= 0) return;
  gap_ = measured_ / modelled - 1;
  fits_ = std::abs(gap_) <= kLargestGap;
  PipelineSettings ready = base_;
  ready.ioScale = ready.cpuScale = ready.loadScale = ready.zippedScale = ready.lockedScale =
      ready.startup = 0;
  const double own = sum(play(ready, kDraws));
  if (own > 0) dataReady_ = sum(baseTimes_) / own;
}

std::vector<double> Gains::play(const PipelineSettings& s, std::size_t draws) const {
  std::vector<double> times;
  for (std::size_t i = 0; i < std::min(draws, draws_.size()); ++i)
    times.push_back(simulate(workload_, s, draws_[i]));
  return times;
}

double Gains::speedup(const PipelineSettings& changed) const {
  if (!fits_) return 1;
  const double then = sum(play(changed, kDraws));
  return then > 0 ? sum(baseTimes_) / then : 1;
}

double Gains::widening(double gain) const {
  const double half = gap_ / 2;  // a misfit may or may not survive the change
  return std::hypot(kModelError, half, kChangeError * std::log(gain)) + std::max(0.0, external_);
}

double Gains::limitOf(const PipelineSettings& changed) const {
  const auto trainer = [](const PipelineSettings& s) {
    return std::tie(s.copyScale, s.deviceScale, s.periodicScale);
  };
  const double own = changed.ownScale / base_.ownScale;
  if (dataReady_ <= 0 || !(own > 0) || trainer(changed) != trainer(base_))
    return std::numeric_limits<double>::infinity();
  // Where the trainer's own work is less, too, no step becomes shorter than in that proportion.
  return dataReady_ * (1 + kModelError) / std::min(1.0, own);
}

Prediction Gains::predict(const PipelineSettings& changed) const {
  Prediction p;
  if (!fits_) return p;
  const std::vector<double> times = play(changed, kDraws);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] > 0) ratios.push_back(baseTimes_[i] / times[i]);
  if (ratios.empty()) return p;
  p.speedup = sum(baseTimes_) / sum(times);
  const double wider = widening(*p.speedup);
  p.low = std::min(*p.speedup, quantile(ratios, 0.05)) * (1 - std::min(0.9, wider));
  p.high = std::max(*p.speedup, quantile(ratios, 0.95)) * (1 + wider);
  p.high = std::clamp(limitOf(changed), *p.speedup, *p.high);
  return p;
}

Prediction Gains::predict(const PipelineSettings& likely, const PipelineSettings& minimum,
                          const PipelineSettings& maximum) const {
  Prediction p = predict(likely);
  if (!p.speedup) return p;
  p.low = std::min(*p.low, *predict(minimum).low);
  p.high = std::max(*p.high, *predict(maximum).high);
  return p;
}

Prediction Gains::predictAssumed(const PipelineSettings& likely, const PipelineSettings& minimum,
                                 const PipelineSettings& maximum) const {
  if (!fits_) return {};
  const double gain = speedup(likely);
  return {gain, predict(minimum).low, std::max(gain, speedup(maximum))};
}

Prediction Gains::predictMeasured(const PipelineSettings& changed) const {
  Prediction p;
  const std::vector<double> times = play(changed, kDraws);
  const double all = sum(times), steps = static_cast<double>(times.size());
  if (all <= 0) return p;
  const double error = kModelError + std::max(0.0, external_);
  p.speedup = measured_ * steps / all;
  p.low = measured_ / quantile(times, 0.95) * (1 - std::min(0.9, error));
  p.high = std::min(limitOf(changed), measured_ / quantile(times, 0.05) * (1 + error));
  p.speedup = std::min(*p.speedup, *p.high);
  p.low = std::min(*p.low, *p.speedup);
  return p;
}

int Gains::bestWorkers(PipelineSettings changed, int minimum, int maximum) const {
  if (!fits_ || maximum <= minimum) return minimum;
  std::vector<std::pair<int, double>> tried;
  double best = 0;
  for (int w = minimum; w <= maximum; w = std::max(w + 1, w * 5 / 4)) {
    changed.workers = w;
    const double time = sum(play(changed, kDrawsToChoose));
    tried.emplace_back(w, time);
    if (best == 0 || time < best) best = time;
  }
  for (const auto& [workers, time] : tried)
    if (time <= best * kGoodEnough) return workers;
  return minimum;
}

}  // namespace stallprof
