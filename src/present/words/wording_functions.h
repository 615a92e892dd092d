// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/analysis.h"

namespace stallprof {

// Which functions each phase's time went to, a line each: "transform  63 %  PIL/Image.py:
// Image.resize called from train.py:31 Photos.__getitem__, 4 workers". Empty without stacks; at
// most `maximum` lines.
[[nodiscard]] std::vector<std::string> functionLines(const Analysis& analysis, std::size_t maximum);

// What native code the CPU time went to, at most `maximum` lines, a function each: " 71 %  program
// spin:work". Empty where no sample was taken.
[[nodiscard]] std::vector<std::string> nativeLines(const Analysis& analysis, std::size_t maximum);
// What the lines are shares of: "2,000 CPU samples, waiting in a spin loop 12 %".
[[nodiscard]] std::string nativeHead(const NativeInfo& native);

// The lines of the loop, "train.py:41    72.0 %  transform  x = augment(batch)", by number; those
// with most time where there are more than `maximum`. Last what is in none of them, if it is worth
// a row.
[[nodiscard]] std::vector<std::string> loopLines(const Analysis& analysis, std::size_t maximum);
inline constexpr std::string_view kElsewhere = "elsewhere";
// Of the trainer's time, where the rows of lines have `inRows`; 0: too little for a row.
[[nodiscard]] double elsewhereRatio(double inRows);

}  // namespace stallprof
