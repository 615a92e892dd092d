// SPDX-License-Identifier: MIT
#include "agent/cupti/health.h"

namespace stallprof::agent {
namespace {

constexpr std::uint64_t kEnoughCalls = 10;
constexpr int kUnsteadyTicks = 3;   // a step of a clock is in two rates, a new unit too
constexpr double kMaxDrift = 0.01;  // NTP slews by 0.0005
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
  *this = Health(unread_ ? patience_ : 2 * silent_);
  return true;
}

// Of another unit is no harm (torch's profiler leaves CUPTI with the ticks of the CPU), as long as
// it goes evenly.
bool Health::isUnsteadyClock(const Sample& now) {
  if (now.device == 0 || last_.device == 0 || now.monotonic <= last_.monotonic) return false;
  const double rate = (static_cast<double>(now.device) - static_cast<double>(last_.device)) /
                      static_cast<double>(now.monotonic - last_.monotonic);
  const double before = rate_ > 0 ? rate_ : 1;
  rate_ = rate;
  const bool off = rate < before * (1 - kMaxDrift) || rate > before * (1 + kMaxDrift);
  unsteady_ = off ? unsteady_ + 1 : 0;
  return unsteady_ >= kUnsteadyTicks;
}

// Buffers are asked for and none becomes free: the recorder is gone, or stands still.
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
  const bool stolen = isStolen(now), unsteady = isUnsteadyClock(now), unread = isAlone(now),
             invalid = isInvalid(now);
  last_ = now;
  silence_ = stolen;
  unread_ = unread && !unsteady;
  if (stolen) return say(Verdict::kYield, "another tool of the program took CUPTI's buffers");
  if (unsteady) return say(Verdict::kYield, "CUPTI's clock does not go evenly");
  if (unread) return say(Verdict::kYield, "nobody reads what is recorded");
  if (invalid) {
    invalid_ = 0;
    return say(Verdict::kNoKernels, "CUPTI gives kernels times that cannot be");
  }
  return Verdict::kWell;
}

}  // namespace stallprof::agent
