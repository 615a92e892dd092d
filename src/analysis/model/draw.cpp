// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analysis/model/pipeline_model.h"
#include "base/splitmix64.h"

namespace stallprof {
Draw drawBlocks(std::size_t from, std::size_t steps, std::size_t block, std::uint64_t seed) {
  Draw draw;
  if (from == 0) return draw;
  block = std::clamp<std::size_t>(block, 1, from);
  while (draw.size() < steps) {
    const std::size_t begin = splitmix64(seed) % (from - block + 1);
    seed += kSplitmix64Step;
    for (std::size_t i = 0; i < block && draw.size() < steps; ++i)
      draw.push_back(static_cast<std::uint32_t>(begin + i));
  }
  return draw;
}

}  // namespace stallprof
