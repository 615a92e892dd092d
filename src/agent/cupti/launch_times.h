// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace stallprof::agent {

// How long the program's launches took, as their records say; on any thread that gives buffers
// back. A quarter of them took no longer than `quartile`: what makes some wait (a full queue, a
// module to load, another process on the CPU) is not in it, what each pays for being traced is.
class LaunchTimes {
 public:
  struct Sum {
    std::uint64_t count = 0, quartile = 0;  // ns
  };
  void add(std::uint64_t ns);
  Sum take();  // of all since the last time

 private:
  static constexpr std::uint64_t kWidth = 128;  // ns
  static constexpr std::size_t kBuckets = 512;  // the last holds all that are longer
  std::atomic<std::uint32_t> buckets_[kBuckets];
};

}  // namespace stallprof::agent
