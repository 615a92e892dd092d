// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/options.h"

namespace stallprof {

// The directory of a recording to be made, or why there can be none: found out before anything
// starts. It does not exist.
[[nodiscard]] Result<std::string> chooseRecording(const LaunchOptions& options,
                                                  const std::vector<std::string>& environment);

// Whether the reports' files can be written.
[[nodiscard]] Status checkReports(const std::vector<LaunchOptions::Report>& reports);

}  // namespace stallprof
