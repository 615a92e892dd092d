// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/evidence.h"

namespace stallprof {

// What was looked at and is fine, each with its number; and what this run could not tell.
[[nodiscard]] std::vector<std::string> notAProblem(const Evidence& e,
                                                   const std::vector<Finding>& findings);
[[nodiscard]] std::vector<std::string> notMeasured(const Evidence& e);

}  // namespace stallprof
