// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "recording/manifest.h"

namespace stallprof {

// What is known before the command starts, secrets masked. Process ids are the caller's to fill in.
[[nodiscard]] Manifest factsOfRun(const std::vector<std::string>& command,
                                  const std::vector<std::string>& environment, double hz);

}  // namespace stallprof
