// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "analysis/analysis.h"
#include "trace/trace.h"

namespace stallprof {

struct AnalyzeOptions {
  std::optional<double> pricePerHour;
  std::string recording;  // path as the user gave it, for verify commands
};

// The whole answer from a recording. Pure: same trace, same answer; no files, clock or randomness
// without a fixed seed.
[[nodiscard]] Analysis analyze(const Trace& trace, const AnalyzeOptions& options = {});

}  // namespace stallprof
