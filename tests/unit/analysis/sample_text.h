// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace stallprof::test {

// Text of `count` samples of thread 1, 10 ms apart, the first at `at` ms, running or blocked in a
// lock.
inline std::string sample(int at, int count, int stack, bool running = true) {
  const std::string begin = std::to_string(at), length = std::to_string(10 * count);
  return begin + "ms slice thread=1 duration=" + length + "ms samples=" + std::to_string(count) +
         (running ? " run=" + length + "ms wait=running\n" : " wait=futex\n") +
         std::to_string(at + 5) +
         "ms stack_slice thread=1 duration=" + std::to_string(10 * count - 10) +
         "ms samples=" + std::to_string(count) + " stack=" + std::to_string(stack) + " gil=holds\n";
}

}  // namespace stallprof::test
