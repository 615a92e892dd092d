// SPDX-License-Identifier: MIT
#include "agent/health.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kEnoughCalls = 10;
constexpr int kOffRateTicks = 2;     // one may hold a step of the system's clock
constexpr double kMostDrift = 0.01;  // NTP slews by 0.0005; ticks of a CPU run thrice as fast
constexpr int kAloneTicks = 10;
constexpr int kInvalidTicks = 3;

}  // namespace

// Calls that leave records were made, and none of the flushes since brought one.
bool Health::isStolen(const Look& now) {
  if (now.delivered != last_.delivered || now.starved != last_.starved) {
    silent_ = 0;
    callsAtDelivery_ = now.calls;
    return false;
  }
  return ++silent_ >= patience_ && now.calls - callsAtDelivery_ >= kEnoughCalls;
}

bool Health::cameBack(std::uint64_t delivered) {
  ++silent_;
  if (delivered == last_.delivered) return false;
  *this = Health(2 * silent_);
  return true;
}

bool Health::isOtherClock(const Look& now) {
  if (now.device == 0 || last_.device == 0 || now.monotonic <= last_.monotonic) return false;
  const double ratio = (static_cast<double>(now.device) - static_cast<double>(last_.device)) /
                       static_cast<double>(now.monotonic - last_.monotonic);
  const bool off = ratio < 1 - kMostDrift || ratio > 1 + kMostDrift;
  offRate_ = off ? offRate_ + 1 : 0;
  return offRate_ >= kOffRateTicks;
}

// Buffers are asked for and none ever becomes free: the recorder is gone, or stands still.
bool Health::isAlone(const Look& now) {
  const bool alone = now.starved != last_.starved && now.taken == last_.taken;
  alone_ = alone ? alone_ + 1 : 0;
  return alone_ >= kAloneTicks;
}

// CUPTI out of device memory says 0, or an end before the start, from then on.
bool Health::isInvalid(const Look& now) {
  const std::uint64_t kernels = now.kernels - last_.kernels, invalid = now.invalid - last_.invalid;
  if (kernels != 0) invalid_ = invalid * 2 > kernels ? invalid_ + 1 : 0;
  return invalid_ >= kInvalidTicks;
}

Health::Verdict Health::say(Verdict verdict, const char* why) {
  why_ = why;
  return verdict;
}

Health::Verdict Health::judge(const Look& now) {
  const bool stolen = isStolen(now), otherClock = isOtherClock(now), alone = isAlone(now),
             invalid = isInvalid(now);
  last_ = now;
  silence_ = stolen && !otherClock;
  if (stolen) return say(Verdict::kYield, "another tool of the program took CUPTI's buffers");
  if (otherClock) return say(Verdict::kYield, "another tool of the program set CUPTI's clock");
  if (alone) return say(Verdict::kStop, "nobody reads what is recorded");
  if (invalid) {
    invalid_ = 0;
    return say(Verdict::kNoKernels, "CUPTI gives kernels times that cannot be");
  }
  return Verdict::kWell;
}

}  // namespace stallprof::agent
