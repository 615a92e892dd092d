// SPDX-License-Identifier: MIT
#include "agent/cupti/health.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kEnoughCalls = 10;
constexpr int kOffRateTicks = 2;    // one may hold a step of the system's clock
constexpr double kMaxDrift = 0.01;  // NTP slews by 0.0005; ticks of a CPU run thrice as fast
constexpr int kAloneTicks = 10;
constexpr int kInvalidTicks = 3;

}  // namespace

// Calls that leave records were made, and none of the flushes since brought one.
bool Health::isStolen(const Sample& now) {
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

bool Health::isOtherClock(const Sample& now) {
  if (now.device == 0 || last_.device == 0 || now.monotonic <= last_.monotonic) return false;
  const double ratio = (static_cast<double>(now.device) - static_cast<double>(last_.device)) /
                       static_cast<double>(now.monotonic - last_.monotonic);
  const bool off = ratio < 1 - kMaxDrift || ratio > 1 + kMaxDrift;
  offRate_ = off ? offRate_ + 1 : 0;
  return offRate_ >= kOffRateTicks;
}

// Buffers are asked for and none ever becomes free: the recorder is gone, or is stopped.
bool Health::isAlone(const Sample& now) {
  const bool unread = now.starved != last_.starved && now.taken == last_.taken;
  alone_ = unread ? alone_ + 1 : 0;
  return alone_ >= kAloneTicks;
}

// CUPTI out of device memory says 0, or an end before the start, from then on.
bool Health::isInvalid(const Sample& now) {
  const std::uint64_t kernels = now.kernels - last_.kernels, invalid = now.invalid - last_.invalid;
  if (kernels != 0) invalid_ = invalid * 2 > kernels ? invalid_ + 1 : 0;
  return invalid_ >= kInvalidTicks;
}

Health::Verdict Health::say(Verdict verdict, const char* why) {
  why_ = why;
  return verdict;
}

Health::Verdict Health::judge(const Sample& now) {
  const bool stolen = isStolen(now), otherClock = isOtherClock(now), unread = isAlone(now),
             invalid = isInvalid(now);
  last_ = now;
  silence_ = stolen && !otherClock;
  if (stolen) return say(Verdict::kYield, "another tool of the program took CUPTI's buffers");
  if (otherClock) return say(Verdict::kYield, "another tool of the program set CUPTI's clock");
  if (unread) return say(Verdict::kStop, "nobody reads what is recorded");
  if (invalid) {
    invalid_ = 0;
    return say(Verdict::kNoKernels, "CUPTI gives kernels times that cannot be");
  }
  return Verdict::kWell;
}

}  // namespace stallprof::agent
