// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace stallprof {

// From one number of the stream to the next: splitmix64(x), splitmix64(x + step), ...
inline constexpr std::uint64_t kSplitmix64Step = 0x9E3779B97F4A7C15ull;

// splitmix64 (Vigna): the same numbers each time, and nothing that recurs in them. Of things
// numbered `x`, those whose hash is 0 of a power of two are among those of a smaller one.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += kSplitmix64Step;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// The next of a stream of numbers in [0, 1), even; `state` is where it stands.
[[nodiscard]] constexpr double nextRandom(std::uint64_t& state) {
  state += kSplitmix64Step;
  return static_cast<double>(splitmix64(state) >> 11) * 0x1p-53;
}

}  // namespace stallprof
