// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "analysis/facts/analysis.h"
#include "base/result.h"

namespace stallprof {

inline constexpr char kReportSchema[] = "stallprof.report/1";  // of which reportSchema() is

// The machine-readable report: one JSON object, pretty-printed, ASCII, newline-terminated.
[[nodiscard]] std::string reportJson(const Analysis& analysis);

// Its JSON Schema, as it is installed: share/stallprof/report.schema.json. From the same list of
// fields, report_fields.h.
[[nodiscard]] std::string reportSchema();

// Every number of a report by its JSON path ("steps.time_ns.p50"), lists left out. kDamaged where
// `json` is no report, kUnsupported for one of another schema.
[[nodiscard]] Result<std::map<std::string, double>> reportNumbers(const std::string& json);

}  // namespace stallprof
