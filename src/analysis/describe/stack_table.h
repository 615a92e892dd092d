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

// The lines of the loop with a share worth a row, by number: at most kMaxLines.
inline constexpr std::size_t kMaxLines = 16;
[[nodiscard]] std::vector<LineInfo> lineTable(const Trace& trace, const TrainerFacts& facts);

}  // namespace stallprof
