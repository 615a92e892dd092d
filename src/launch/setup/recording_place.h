// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/setup/options.h"

namespace stallprof {

// The directory of a recording to be made, which does not exist; or why it, or a report that was
// asked for, cannot be written: found out before anything starts. Without a place that the user
// named it is the working directory's, or TMPDIR's (/tmp) where that cannot be written;
// kUnsupported: nor can that.
[[nodiscard]] Result<std::string> chooseRecording(const LaunchOptions& options,
                                                  const std::vector<std::string>& environment);

// The file of a report of that recording; empty: standard error.
[[nodiscard]] std::string reportFile(const std::string& recording,
                                     const LaunchOptions::Report& report);

}  // namespace stallprof
