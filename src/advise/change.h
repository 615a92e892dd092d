// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/findings/definition.h"

// An advised change as lines of the user's program and of a shell.
namespace stallprof {

// "- old" and "+ new" lines from the settings that were seen; "" where code is not ours to guess.
[[nodiscard]] std::string diffOf(const AdviceContext& c);

// A shell line that tries the change by `stallprof verify`, where `run` can make it from outside;
// else one that runs the changed program and compares it with this recording. Words are quoted.
[[nodiscard]] std::string verifyCommandOf(const AdviceContext& c, const std::string& recording);

}  // namespace stallprof
