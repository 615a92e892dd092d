// SPDX-License-Identifier: MIT
#include "agent/cupti/windows.h"

#include <algorithm>

namespace stallprof::agent {

namespace {

// Nanoseconds.
double costOf(const Windows::Tick& tick) {
  return static_cast<double>(tick.kernels * Windows::kKernelNs + tick.calls * Windows::kCallNs);
}

}  // namespace

bool Windows::next(const Tick& tick) {
  if (!tick.recorded) return --ticksOff_ <= 0;
  if (tick.ns == 0 || tick.kernels + tick.calls == 0) return true;
  const double budgets = costOf(tick) / static_cast<double>(tick.ns) / kBudget;
  windowed_ = budgets > (windowed_ ? kBackBelow : 1.0);
  if (!windowed_) return true;
  // On for 1 of `budgets` ticks, rounded up.
  ticksOff_ = static_cast<int>(std::clamp<double>(budgets, 1, std::min(firstGap_, kLongestGap)));
  firstGap_ = std::min(firstGap_ * 2, kLongestGap);
  return false;
}

void Windows::ended(const Tick& since) {
  constexpr double kTick = 1e9;
  const double pays = costOf(since) / kBudget / kTick;
  const double length = 1 + static_cast<double>(since.ns) / kTick;
  ticksOff_ = static_cast<int>(std::min(ticksOff_ + pays, kLongestGap * length));
}

}  // namespace stallprof::agent
