// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

namespace stallprof {

// What native code the CPU time went to, at most `most` lines, a function each: " 71 %  program
// spin:work". Empty where no sample was taken.
[[nodiscard]] std::vector<std::string> nativeLines(const Analysis& analysis, std::size_t maximum);

// What the lines are shares of: "2,000 CPU samples, spinning 12 %, in the kernel 3 %".
[[nodiscard]] std::string nativeHead(const NativeInfo& native);

}  // namespace stallprof
