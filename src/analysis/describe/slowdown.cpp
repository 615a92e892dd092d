// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/describe/describe.h"
#include "base/stats.h"

namespace stallprof {
namespace {

constexpr double kNormal95 = 1.96;
// An interval wider than this says nothing of a cost that is promised to be 1 %; unless all of it
// is above that.
constexpr double kWidest = 0.02, kPromised = 1.01;
// Sides shorter than this part of their pause are not compared with it: they are noise.
constexpr double kShortestSide = 0.25;
// At least this part of a pause, and of its two sides together, is plain steps: more than one side.
constexpr double kPlain = 0.6;
// Above this part of the effect that steps across a window's end hide, nothing is left to measure.
constexpr double kMaxHidden = 0.7;
constexpr int kMaxRounds = 40;  // each leaves kMaxHidden of the error at the most

// A step that lies in a pair's windows, its time in seconds.
struct Part {
  double paused = 0, sampled = 0;  // of the whole step
  double inSides = 0;              // of `sampled`: within the windows beside the pause
};

// A pause, and as much time beside it as it lasted, on both sides if it can be.
struct Pair {
  double pause = 0, sides = 0;  // seconds of plain steps
  std::vector<Part> parts;

  // The logarithm of the steps a second in the pause by those beside it. A step that lies in both
  // is one step's work, done `slowdown` times as fast in the pause as beside it.
  [[nodiscard]] double logRatio(double slowdown) const {
    double inPause = 0, beside = 0;
    for (const Part& part : parts) {
      const double work = slowdown * part.paused + part.sampled;
      inPause += slowdown * part.paused / work;
      beside += part.inSides / work;
    }
    return std::log(inPause / pause * sides / beside);
  }
};

class Pairs {
 public:
  Pairs(const Trace& trace, const TrainerFacts& trainer) : trace_(trace), trainer_(trainer) {
    for (std::size_t i = 0; i < trace.pauses.size(); ++i) add(i);
  }

  [[nodiscard]] std::size_t count() const { return pairs_.size(); }
  [[nodiscard]] std::vector<double> logRatios(double slowdown) const {
    std::vector<double> all;
    for (const Pair& pair : pairs_) all.push_back(pair.logRatio(slowdown));
    return all;
  }

 private:
  // Half of the time to the next pause belongs to that one: no time is in two pairs.
  [[nodiscard]] Nanos sideBefore(std::size_t i) const {
    const Nanos begin = trace_.pauses[i].at;
    const Nanos free =
        i == 0 ? begin - trainer_.windowBegin
               : std::min((begin - trace_.pauses[i - 1].end()) / 2, begin - trainer_.windowBegin);
    return std::min(free, trace_.pauses[i].data.duration);
  }
  [[nodiscard]] Nanos sideAfter(std::size_t i) const {
    const Nanos end = trace_.pauses[i].end();
    const Nanos free = i + 1 == trace_.pauses.size() ? trainer_.windowEnd - end
                                                     : std::min((trace_.pauses[i + 1].at - end) / 2,
                                                                trainer_.windowEnd - end);
    return std::min(free, trace_.pauses[i].data.duration);
  }

  void add(std::size_t i) {
    const Interval pause = intervalOf(trace_.pauses[i]);
    const Nanos before = sideBefore(i), after = sideAfter(i);
    const Nanos minimum(static_cast<Nanos::rep>(kShortestSide * seconds(pause.length()) * 1e9));
    if (pause.empty() || before < minimum || after < minimum) return;
    const Interval all{pause.begin - before, pause.end + after};
    Pair pair = collect(all, pause);
    const bool enough = pair.pause >= kPlain * seconds(pause.length()) &&
                        pair.sides >= kPlain * seconds(before + after);
    if (enough) pairs_.push_back(std::move(pair));
  }

  // Of the plain steps alone: an epoch's end or a checkpoint would be taken for a difference, and
  // of steps that are not held nothing is known.
  [[nodiscard]] Pair collect(const Interval& all, const Interval& pause) const {
    Pair pair;
    const std::vector<Step>& steps = trainer_.steps;
    auto step = std::partition_point(steps.begin(), steps.end(),
                                     [&](const Step& s) { return s.end <= all.begin; });
    for (; step != steps.end() && step->begin < all.end; ++step) {
      if (step->boundary || step->empty()) continue;
      const Nanos paused = overlap(*step, pause), inSides = overlap(*step, all) - paused;
      pair.parts.push_back({seconds(paused), seconds(step->length() - paused), seconds(inSides)});
      pair.pause += seconds(paused);
      pair.sides += seconds(inSides);
    }
    return pair;
  }

  const Trace& trace_;
  const TrainerFacts& trainer_;
  std::vector<Pair> pairs_;
};

}  // namespace

Maybe<Slowdown> measureSlowdown(const Trace& trace, const TrainerFacts& trainer) {
  const Pairs pairs(trace, trainer);
  if (pairs.count() == 0) return {};
  Slowdown out;
  out.pairs = static_cast<std::int64_t>(pairs.count());
  // Steps across a window's end hide part of the effect, the more of it the shorter the windows.
  // How much is known for any slowdown assumed: the one that is found where it is assumed is it.
  const auto found = [&](double logSlowdown) {
    return signedRankLocation(pairs.logRatios(std::exp(logSlowdown)), kNormal95);
  };
  double log = 0, change = 1;
  for (int round = 0; round < kMaxRounds && std::abs(change) > 1e-6; ++round) {
    const auto location = found(log);
    if (!location) return out;  // too few
    change = location->value - log;
    log = location->value;
  }
  constexpr double kStep = 0.01;
  const Location here = *found(log), beyond = *found(log + kStep);
  const double hidden = (beyond.value - here.value) / kStep;
  if (hidden > kMaxHidden) return out;
  const double low = std::exp(log - (here.value - here.low) / (1 - hidden));
  const double high = std::exp(log + (here.high - here.value) / (1 - hidden));
  if (high - low > kWidest && low <= kPromised) return out;
  out.ratio = std::exp(log);
  out.low = low;
  out.high = high;
  return out;
}

}  // namespace stallprof
