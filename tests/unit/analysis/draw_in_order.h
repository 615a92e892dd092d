// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "analysis/model/pipeline_model.h"

namespace stallprof::test {

// Every step and batch once, as it was.
inline Draw drawInOrder(std::size_t steps) {
  Draw draw(steps);
  std::iota(draw.begin(), draw.end(), 0u);
  return draw;
}

}  // namespace stallprof::test
