// SPDX-License-Identifier: MIT
#pragma once

#include "base/time.h"

// Durations as tests write them.
namespace stallprof {

constexpr Nanos kSecond = std::chrono::seconds(1);

constexpr Nanos s(long n) { return std::chrono::seconds(n); }
constexpr Nanos ms(auto n) {
  return std::chrono::duration_cast<Nanos>(std::chrono::duration<decltype(n), std::milli>(n));
}
constexpr Nanos ticks(long n) { return std::chrono::milliseconds(10 * n); }  // as /proc counts

}  // namespace stallprof
