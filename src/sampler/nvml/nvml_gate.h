// SPDX-License-Identifier: MIT
#pragma once

#include "base/time.h"
#include "sampler/nvml/nvml_api.h"

namespace stallprof {

// Codes that are of the device or the library as a whole: no other call will do better.
[[nodiscard]] constexpr bool endsDevice(int code) {
  return code == nvml::kUninitialized || code == nvml::kGpuIsLost || code == nvml::kResetRequired;
}

// Whether one entry point is worth calling for one device. What it cannot do at all is asked once;
// what it would not do now, again after a while.
class Gate {
 public:
  // Calls when it is worth it; true when the answer can be used.
  template <class F, class... Arguments>
  bool ask(Nanos now, F function, Arguments... arguments) {
    if (function == nullptr || now < closedUntil_) return false;
    code_ = function(arguments...);
    if (code_ != nvml::kSuccess) closedUntil_ = now + pauseAfter(code_);
    return code_ == nvml::kSuccess;
  }
  // Of the last call; success before the first.
  [[nodiscard]] int code() const { return code_; }

 private:
  static Nanos pauseAfter(int code) {
    switch (code) {
      case nvml::kNotSupported:
      case nvml::kInvalidArgument:
      case nvml::kFunctionNotFound:
      case nvml::kDeprecated:
        return std::chrono::hours(24 * 365);
      case nvml::kNotFound:  // no new sample yet
        return Nanos::zero();
      case nvml::kNoPermission:  // comes and goes in containers (DCGM issue 214)
        return std::chrono::seconds(30);
      default:
        return std::chrono::seconds(5);
    }
  }
  Nanos closedUntil_{};
  int code_ = nvml::kSuccess;
};

}  // namespace stallprof
