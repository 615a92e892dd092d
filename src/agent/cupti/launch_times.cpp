// SPDX-License-Identifier: MIT
#include "agent/cupti/launch_times.h"

namespace stallprof::agent {

void LaunchTimes::add(std::uint64_t ns) {
  const std::uint64_t at = ns / kWidth;
  buckets_[at < kBuckets ? at : kBuckets - 1].fetch_add(1, std::memory_order_relaxed);
}

LaunchTimes::Sum LaunchTimes::take() {
  std::uint32_t counts[kBuckets];
  Sum sum;
  for (std::size_t i = 0; i < kBuckets; ++i)
    sum.count += counts[i] = buckets_[i].exchange(0, std::memory_order_relaxed);
  std::uint64_t below = 0;
  std::size_t i = 0;
  while (i + 1 < kBuckets && (below += counts[i]) * 4 < sum.count) ++i;
  sum.quartile = i * kWidth;
  return sum;
}

}  // namespace stallprof::agent
