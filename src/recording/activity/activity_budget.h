// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace stallprof {

// What device data may take of a recording: at most 200 MB an hour, whatever the job does. Totals
// by second are small by construction; the rest is paid for here, for all processes together.
class ActivityBudget {
 public:
  // Bytes of the encoded events, as the tests measure them on a real mix.
  static constexpr std::int64_t kWorkBytes = 26, kCallBytes = 18, kSpanBytes = 22;
  // Of one interval in which everything is reported. Long enough to hold some steps of a large
  // model, of which ten seconds are a few thousand kernels.
  static constexpr double kEachOnce = 0.5e6, kEachLongest = 10;  // bytes, seconds

  void tick(Nanos now) {
    const double passed = last_ == Nanos{} ? 0 : std::max(0.0, seconds(now - last_));
    each_ = std::min(each_ + passed * kEachPerSecond, kMaxEach);
    calls_ = std::min(calls_ + passed * kCallsPerSecond, kMaxCalls);
    last_ = now;
  }

  // For how long every piece of work may be reported, at `bytesPerSecond`: a second, or as long as
  // takes no more than kEachOnce; less where less is left, below a tenth of a second none.
  [[nodiscard]] Nanos eachFor(double bytesPerSecond) const {
    const double rate = std::max(bytesPerSecond, 1.0);
    const double maximum = std::min(each_ / rate, std::clamp(kEachOnce / rate, 1.0, kEachLongest));
    return maximum < 0.1 ? Nanos{} : fromSeconds(maximum);
  }
  // Within such an interval what is paid may be more than there is: the next comes later.
  void payEach(std::int64_t bytes) { each_ -= static_cast<double>(bytes); }
  [[nodiscard]] bool longCopy() { return take(each_, kWorkBytes); }
  [[nodiscard]] bool longCall() { return take(calls_, kCallBytes); }

  void addDevice() { ++devices_; }
  void removeDevice() { --devices_; }
  // Spans that one device of one process may be reported in an interval of this length.
  [[nodiscard]] std::size_t spansIn(Nanos interval) const {
    const double all = kSpansPerSecond * std::clamp(seconds(interval), 0.1, 10.0);
    return static_cast<std::size_t>(
        std::max(all / static_cast<double>(std::max<std::int64_t>(devices_, 1)), 20.0));
  }

  // Totals of one second that one device of one process may have, by name or by thread: a training
  // step has some tens of kernels that matter.
  [[nodiscard]] std::size_t names() const {
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(96 / std::max<std::int64_t>(devices_, 1), 12, 48));
  }

 private:
  static constexpr double kHour = 3600;
  static constexpr double kEachPerSecond = 60e6 / kHour, kMaxEach = 8e6;
  static constexpr double kCallsPerSecond = 30e6 / kHour, kMaxCalls = 1e6;
  static constexpr double kSpansPerSecond = 80e6 / kHour / kSpanBytes;

  static bool take(double& from, std::int64_t bytes) {
    if (from < static_cast<double>(bytes)) return false;
    from -= static_cast<double>(bytes);
    return true;
  }

  double each_ = kMaxEach, calls_ = kMaxCalls;
  Nanos last_{};
  std::int64_t devices_ = 0;
};

}  // namespace stallprof
