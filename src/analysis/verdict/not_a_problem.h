// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/evidence.h"

namespace stallprof {

// What was checked and is fine, each with its number; and what was not measured in this run.
[[nodiscard]] std::vector<std::string> notAProblem(const Evidence& e,
                                                   const std::vector<Finding>& findings);
[[nodiscard]] std::vector<std::string> notMeasured(const Evidence& e);
// What limits how far the figures of this run carry, and no finding says: other users of its cores.
[[nodiscard]] std::vector<std::string> caveats(const Evidence& e,
                                               const std::vector<Finding>& findings);

}  // namespace stallprof
