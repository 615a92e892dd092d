// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/facts/analysis.h"

namespace stallprof {

// OpenMetrics text (application/openmetrics-text; version=1.0.0), for node_exporter's textfile
// collector, GitLab's metrics reports and whatever else scrapes. Gauges of the whole run, named as
// the JSON report's fields: `breakdown.phase_ratio.load` is
// `stallprof_breakdown_phase_ratio{phase="load"}`; in base units, so `_ns` is `_seconds`. What was
// not measured is left out, never 0. Labels hold no control characters, whatever the job's text.
[[nodiscard]] std::string openMetrics(const Analysis& analysis);

}  // namespace stallprof
