// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/analysis.h"

namespace stallprof {

// Where the first epoch waited for a far larger share of its time than those after it: it filled a
// cache, the kernel's or the program's own. Null: it is as they are, or there is one. An epoch of
// fewer than half of its steps says nothing.
[[nodiscard]] Maybe<FirstEpoch> unlikeLater(const std::vector<EpochInfo>& epochs);

}  // namespace stallprof
