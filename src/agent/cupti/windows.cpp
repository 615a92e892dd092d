// SPDX-License-Identifier: MIT
#include "agent/cupti/windows.h"

namespace stallprof::agent {

bool Windows::mayMeasure() const {
  return launching_ && sinceTry_ >= (measured_ ? kMeasureEvery : kTryEvery);
}

// `with`: launches while kernels were recorded, in the tick after the one without.
void Windows::learn(const LaunchTimes::Sum& with) {
  const LaunchTimes::Sum without = without_;
  without_ = {};
  if (without.count < kEnough || with.count < kEnough) return;
  const std::uint64_t more =
      with.quartile > without.quartile ? with.quartile - without.quartile : 0;
  kernelNs_ = more < kKernelNs ? kKernelNs : more > kMaxKernelNs ? kMaxKernelNs : more;
  measured_ = true;
}

// In the last tick before kernels are on again it can be measured what launches take without.
Windows::Record Windows::off() {
  if (ticksOff_ > 1 || !mayMeasure()) return Record::kNone;
  sinceTry_ = 0;
  return Record::kCalls;
}

Windows::Record Windows::next(const Tick& tick) {
  if (sinceTry_ < kMeasureEvery) ++sinceTry_;
  if (tick.recorded != Record::kAll) {
    without_ = tick.recorded == Record::kCalls ? tick.launches : LaunchTimes::Sum{};
    if (ticksOff_ > 0) --ticksOff_;
    return ticksOff_ == 0 ? Record::kAll : off();
  }
  learn(tick.launches);
  if (tick.ns == 0) return Record::kAll;
  const auto cost = static_cast<double>(tick.kernels * kernelNs_ + tick.calls * kCallNs);
  const double budgets = cost / static_cast<double>(tick.ns) / kBudget;
  launching_ = tick.launches.count >= kEnough && budgets > kNoMatter;
  windowed_ = budgets > (windowed_ ? kBackBelow : 1.0);
  // On for 1 of `budgets` ticks, rounded up.
  const double gap = budgets < kLongestGap ? budgets : kLongestGap;
  ticksOff_ = windowed_ && gap >= 1 ? static_cast<int>(gap) : 1;
  if (windowed_) return off();
  // Alone while kernels are on all the time, for that one tick.
  return mayMeasure() ? off() : Record::kAll;
}

}  // namespace stallprof::agent
