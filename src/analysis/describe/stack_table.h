// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/source_lines.h"

namespace stallprof {

// The functions that each phase's time went to, the largest of each side and phase.
[[nodiscard]] std::vector<FunctionInfo> functionTable(const Trace& trace,
                                                      const TrainerFacts& facts);

}  // namespace stallprof
