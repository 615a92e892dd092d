// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace stallprof {

// Every duration and every instant. Instants are CLOCK_MONOTONIC of the recorded host unless a
// name says otherwise; there is no raw integer for time outside the wire formats.
using Nanos = std::chrono::nanoseconds;
inline constexpr Nanos kOneSecond = std::chrono::seconds(1);

[[nodiscard]] Nanos now();             // CLOCK_MONOTONIC
[[nodiscard]] Nanos realtimeNow();     // CLOCK_REALTIME, for naming and clock pairs only
[[nodiscard]] Nanos boottimeNow();     // CLOCK_BOOTTIME: differs from now() by time suspended
[[nodiscard]] Nanos processCpu();      // CPU time of this process so far
[[nodiscard]] Nanos threadCpu();       // of the calling thread
[[nodiscard]] Nanos cpuOf(pid_t pid);  // of another; negative: there is none

// As strftime has it, in UTC and in the host's time zone; the text is shorter than 32 bytes.
[[nodiscard]] std::string utcText(Nanos realtime, const char* format);
[[nodiscard]] std::string localText(Nanos realtime, const char* format);

[[nodiscard]] constexpr double seconds(Nanos t) { return static_cast<double>(t.count()) * 1e-9; }
[[nodiscard]] constexpr Nanos fromSeconds(double s) {
  return Nanos(static_cast<Nanos::rep>(s * 1e9));
}
// part / whole; 0 where `whole` is not positive.
[[nodiscard]] constexpr double fractionOf(Nanos part, Nanos whole) {
  return whole > Nanos::zero()
             ? static_cast<double>(part.count()) / static_cast<double>(whole.count())
             : 0;
}
// Rounded towards zero.
[[nodiscard]] constexpr Nanos scaled(Nanos t, double factor) {
  return Nanos(static_cast<Nanos::rep>(static_cast<double>(t.count()) * factor));
}
// part * of / whole in whole nanoseconds, rounded down; zero where `whole` is not positive.
[[nodiscard]] constexpr Nanos proportion(Nanos part, Nanos of, Nanos whole) {
  if (whole <= Nanos::zero()) return Nanos::zero();
  return Nanos(
      static_cast<Nanos::rep>(static_cast<__int128>(part.count()) * of.count() / whole.count()));
}

}  // namespace stallprof
