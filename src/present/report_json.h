// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"

namespace stallprof {

inline constexpr char kReportSchema[] = "stallprof.report/1";

// The machine-readable report: one JSON object, pretty-printed, ASCII, newline-terminated.
// report.schema.json beside this file and this function must move together.
[[nodiscard]] std::string reportJson(const Analysis& analysis);

// Every number of a report by its JSON path ("steps.time_ns.p50"), lists left out. kDamaged where
// `json` is no report, kUnsupported for one of another schema.
[[nodiscard]] Result<std::map<std::string, double>> reportNumbers(const std::string& json);

}  // namespace stallprof
