// SPDX-License-Identifier: MIT
#include "agent/windows.h"

namespace stallprof::agent {

bool Windows::next(bool seen, std::uint64_t ns, std::uint64_t kernels, std::uint64_t calls) {
  if (!seen) return ticksOff_ == 0 || --ticksOff_ == 0;
  if (ns == 0) return true;
  const auto cost = static_cast<double>(kernels * kKernelNs + calls * kCallNs);
  const double budgets = cost / static_cast<double>(ns) / kBudget;
  windowed_ = budgets > (windowed_ ? kBackBelow : 1.0);
  if (!windowed_) return true;
  // On for 1 of `budgets` ticks, rounded up.
  const double gap = budgets < kLongestGap ? budgets : kLongestGap;
  ticksOff_ = static_cast<int>(gap);
  if (ticksOff_ == 0) ticksOff_ = 1;
  return false;
}

}  // namespace stallprof::agent
