// SPDX-License-Identifier: MIT
// What a mark of stallprof/annotate.h costs, begin and end. Run it alone and under `stallprof run`:
// there it rests between short bursts, so that the recorder keeps up and every mark is stored.
#include "stallprof/annotate.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  constexpr int kMarks = 500, kBursts = 60;  // 24 KB a burst, of a ring of 64
  std::vector<double> costs;
  for (int burst = 0; burst < kBursts; ++burst) {
    const std::uint64_t began = stallprof_a_now();
    for (int i = 0; i < kMarks; ++i) {
      stallprof_end(stallprof_phase_begin(STALLPROF_COMPUTE));
      asm volatile("" ::: "memory");
    }
    costs.push_back(static_cast<double>(stallprof_a_now() - began) / kMarks);
    ::usleep(200000);
  }
  std::sort(costs.begin(), costs.end());
  std::printf("%.1f ns a mark (median of %d bursts; %.1f to %.1f)\n", costs[kBursts / 2], kBursts,
              costs.front(), costs.back());
}
