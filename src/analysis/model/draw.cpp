// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "analysis/model/pipeline_model.h"

namespace stallprof {
namespace {

// splitmix64: a whole stream from any seed, the same on every platform.
std::uint64_t nextRandom(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Draw drawInOrder(std::size_t steps) {
  Draw draw(steps);
  std::iota(draw.begin(), draw.end(), 0u);
  return draw;
}

Draw drawBlocks(std::size_t from, std::size_t steps, std::size_t block, std::uint64_t seed) {
  Draw draw;
  if (from == 0) return draw;
  block = std::clamp<std::size_t>(block, 1, from);
  while (draw.size() < steps) {
    const std::size_t begin = nextRandom(seed) % (from - block + 1);
    for (std::size_t i = 0; i < block && draw.size() < steps; ++i)
      draw.push_back(static_cast<std::uint32_t>(begin + i));
  }
  return draw;
}

}  // namespace stallprof
