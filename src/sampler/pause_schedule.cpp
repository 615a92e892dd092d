// SPDX-License-Identifier: MIT
#include "sampler/pause_schedule.h"

#include <algorithm>
#include <cstdlib>

#include "base/splitmix64.h"

namespace stallprof {
namespace {

// A window is its shortest length times 1 to 2, or 1 to 2.5 where no step is known: 200 to 500 ms.
constexpr double kSpread = 1, kSpreadBlind = 1.5;

}  // namespace

PauseSchedule::PauseSchedule(double share, std::uint64_t seed)
    : share_(std::clamp(share, 0.0, kMaxShare)), random_(seed) {}

double PauseSchedule::shareAsked() {
  const char* asked = std::getenv(kShareVariable);
  if (asked == nullptr || *asked == '\0') return kShare;
  char* end = nullptr;
  const double percent = std::strtod(asked, &end);
  return *end == '\0' && percent >= 0 ? percent / 100 : kShare;
}

Nanos PauseSchedule::window() const {
  if (pace_.step <= Nanos{}) return kBlind;
  const Nanos steps = pace_.step * (kSteps + 2 * pace_.workers);
  return steps > kLongest / 2 ? Nanos{} : std::max(steps, kShortest);
}

// So long that pauses are `share_` of the time, give or take half.
Nanos PauseSchedule::active() {
  const double mean = 1 + (pace_.step > Nanos{} ? kSpread : kSpreadBlind) / 2;
  return scaled(window(), mean * (1 / share_ - 1) * (0.5 + nextRandom(random_)));
}

void PauseSchedule::update(Nanos now, const StepPace& pace) {
  pace_ = pace;
  if (share_ <= 0 || (pace.step <= Nanos{} && !pace.ranges)) return;
  if (due_ == Nanos::max() && window() > Nanos{}) due_ = now + kStart + active();
}

void PauseSchedule::turn(Nanos now) {
  paused_ = !paused_;
  if (paused_)
    due_ = now + scaled(window(),
                        1 + nextRandom(random_) * (pace_.step > Nanos{} ? kSpread : kSpreadBlind));
  else
    due_ = window() > Nanos{} ? now + active() : Nanos::max();
}

}  // namespace stallprof
