// SPDX-License-Identifier: MIT
#include "agent/cupti/windows.h"

#include <algorithm>

namespace stallprof::agent {

bool Windows::next(const Tick& tick) {
  if (!tick.recorded) return --ticksOff_ <= 0;
  if (tick.ns == 0 || tick.kernels + tick.calls == 0) return true;
  const auto cost = static_cast<double>(tick.kernels * kKernelNs + tick.calls * kCallNs);
  const double budgets = cost / static_cast<double>(tick.ns) / kBudget;
  windowed_ = budgets > (windowed_ ? kBackBelow : 1.0);
  if (!windowed_) return true;
  // On for 1 of `budgets` ticks, rounded up.
  ticksOff_ = static_cast<int>(std::clamp<double>(budgets, 1, std::min(firstGap_, kLongestGap)));
  firstGap_ = std::min(firstGap_ * 2, kLongestGap);
  return false;
}

void Windows::ended(std::uint64_t ns) {
  constexpr double kTick = 1e9, kMax = 86'400;
  const double ticks = 1 + static_cast<double>(ns) / kTick;
  ticksOff_ = static_cast<int>(std::min(ticksOff_ * ticks, kMax));
}

}  // namespace stallprof::agent
