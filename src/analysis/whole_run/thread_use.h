// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "event/vocabulary.h"

namespace stallprof {

constexpr std::size_t indexOf(Phase phase) { return static_cast<std::size_t>(phase); }

// What a thread's time was for: weights that sum to `all`.
struct ThreadUse {
  std::array<double, kPhaseNames.size()> phases{};
  double open = 0, read = 0;  // of extract: finding and opening files; reading them
  double named = 0;           // of compute and transform: by names or loops of its own code alone
  double evaluation = 0;      // of periodic
  bool passes = false;        // part of that is known by going forward and back
  double all = 0;

  [[nodiscard]] double data() const {
    return phases[indexOf(Phase::kExtract)] + phases[indexOf(Phase::kTransform)];
  }
  void add(Phase phase, double weight) {
    phases[indexOf(phase == Phase::kUnknown ? Phase::kOther : phase)] += weight;
    all += weight;
  }
  void add(const ThreadUse& other, double weight) {
    if (other.all <= 0) return add(Phase::kOther, weight);
    join(other, weight / other.all);
  }
  void join(const ThreadUse& other, double scale = 1) {
    for (std::size_t i = 0; i < phases.size(); ++i) phases[i] += scale * other.phases[i];
    open += scale * other.open;
    read += scale * other.read;
    named += scale * other.named;
    evaluation += scale * other.evaluation;
    passes = passes || other.passes;
    all += scale * other.all;
  }
  // Whatever its code seemed to be for, but for files that it reads.
  void makesData() {
    for (const Phase phase : {Phase::kCompute, Phase::kOther}) {
      const double moved = std::exchange(phases[indexOf(phase)], 0);
      phases[indexOf(Phase::kTransform)] += moved;
      named = std::min(all, named + moved);
    }
  }
  // Of what computes, that much is a model that is run and not trained.
  void runsAlone(double weight) {
    weight = std::min(weight, phases[indexOf(Phase::kCompute)]);
    phases[indexOf(Phase::kCompute)] -= weight;
    phases[indexOf(Phase::kPeriodic)] += weight;
    evaluation += weight;
    passes = passes || weight > 0;
  }
};

}  // namespace stallprof
