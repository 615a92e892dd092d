// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/compare.h"

namespace stallprof {

// The metrics `compare` shows, as JSON paths of a report.
[[nodiscard]] const std::vector<std::string>& comparedPaths();

// Both sides side by side, for a terminal: medians, ratio, interval; below them `notes`, sentences
// on the runs. Newline-terminated.
[[nodiscard]] std::string compareText(const Comparison& comparison,
                                      const std::vector<std::string>& notes, int width);

}  // namespace stallprof
