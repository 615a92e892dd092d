// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/analyze.h"
#include "analysis/compare.h"
#include "base/result.h"

namespace stallprof {

// A recording and the whole answer from it, advice written out. The Error's message names the path.
struct Reading {
  Trace trace;
  Analyzed analyzed;
};
[[nodiscard]] Result<Reading> readRecording(const std::string& path, Maybe<double> pricePerHour);

// The whole answer from the recording at `path`, advice written out. The Error's message names the
// path.
[[nodiscard]] Result<Analysis> readAnalysis(const std::string& path, Maybe<double> pricePerHour);

// The numbers of a run, from its recording or from a report of it in JSON.
[[nodiscard]] Result<RunNumbers> readNumbers(const std::string& path);

}  // namespace stallprof
