// SPDX-License-Identifier: MIT
#pragma once

#include "launch/setup/options.h"

namespace stallprof {

// `stallprof run`: runs the command, recorded, and returns the status to exit with; where the
// command died by a signal, or where it is run plainly (STALLPROF_DISABLE=1, inside another run),
// it does not return. 125, 126 and 127 mean what they mean to `env`, and only before the command
// has started.
[[nodiscard]] int runSession(const LaunchOptions& options);

}  // namespace stallprof
