// SPDX-License-Identifier: MIT
#include "sampler/governor.h"

#include <algorithm>

namespace stallprof {
namespace {

constexpr Nanos kSlowest = std::chrono::seconds(1);
constexpr int kMostTurns = 10;  // one thread in 1,024 each second: 100,000 threads still move
constexpr int kCalmSeconds = 3;

}  // namespace

Governor::Governor(Nanos fastest) : fastest_(std::max(fastest, Nanos(1'000'000))) {}

// Levels that lengthen the period up to a second; those after it divide the threads.
int Governor::slowest() const {
  int level = 0;
  for (Nanos period = fastest_; period < kSlowest; period *= 2) ++level;
  return level;
}

Pace Governor::pace() const {
  const int stretched = std::min(level_, slowest());
  const Nanos period = std::min(fastest_ * (1l << stretched), std::max(kSlowest, fastest_));
  return {period, 1u << (level_ - stretched)};
}

Pace Governor::update(Nanos wall, Nanos cpu) {
  if (wall <= Nanos::zero()) return pace();
  const double budget = kShare * static_cast<double>(wall.count());
  const double spent = static_cast<double>(cpu.count());
  credit_ = std::clamp(credit_ + Nanos(static_cast<Nanos::rep>(budget - spent)), -kBurst, kBurst);
  const bool over = spent > budget;
  calm_ = 2 * spent < kRaiseBelow * budget ? calm_ + 1 : 0;
  if (over && credit_ <= Nanos::zero()) {
    for (double expected = spent; expected > budget; expected /= 2)
      level_ = std::min(level_ + 1, slowest() + kMostTurns);
    credit_ = Nanos::zero();
  } else if (level_ > 0 && calm_ >= kCalmSeconds && credit_ >= Nanos::zero()) {
    --level_;
    calm_ = 0;
  }
  return pace();
}

}  // namespace stallprof
