// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "launch/setup/options.h"
#include "recording/manifest.h"

namespace stallprof {

// What is known before the command starts, secrets masked. The recorder's pid is the caller's to
// fill in.
[[nodiscard]] Manifest makeManifest(const LaunchOptions& options,
                                    const std::vector<std::string>& environment);

}  // namespace stallprof
