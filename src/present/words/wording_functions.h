// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

namespace stallprof {

// Which functions each phase's time went to, a line each: "transform  63 %  PIL/Image.py:
// Image.resize called from train.py:31 Photos.__getitem__, 4 workers". Empty without stacks; at
// most `maximum` lines.
[[nodiscard]] std::vector<std::string> functionLines(const Analysis& analysis, std::size_t maximum);

// The lines of the loop, "train.py:41    72.0 %  transform  x = augment(batch)", by number; those
// with most time where there are more than `maximum`.
[[nodiscard]] std::vector<std::string> loopLines(const Analysis& analysis, std::size_t maximum);

}  // namespace stallprof
