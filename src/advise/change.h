// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/findings/definition.h"

// An advised change as lines of the user's program and of a shell.
namespace stallprof {

// "- old" and "+ new" lines from the settings that were seen; "" where code is not ours to guess.
[[nodiscard]] std::string diffOf(const AdviceContext& c);

// Several changes of one loader's arguments as the user makes them, in one line:
// "DataLoader(..., num_workers=0 -> 2, persistent_workers=True)".
[[nodiscard]] std::string changeLine(const Analysis& analysis, const LoaderInfo& loader,
                                     const std::vector<Advice::Change>& changes);

// A shell line that tries the change by `stallprof verify`, where `run` can make it from outside;
// else one that runs the changed program and compares it with this recording. Words are quoted.
[[nodiscard]] std::string verifyCommandOf(const AdviceContext& c, const std::string& recording);

}  // namespace stallprof
