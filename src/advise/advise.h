// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/analysis.h"

// An advised change in words, as lines of the user's program and of a shell.
namespace stallprof {

// Writes the words of every advice in `analysis`: text, diff, what is missing of its risk, and the
// command that checks it. `recording` is the path as the user gave it; "" leaves the commands
// without it. Changes no number. Pure; call once, after `analyze`.
void advise(Analysis& analysis, const std::string& recording = {});

// Several changes of one loader's arguments as the user makes them, in one line:
// "DataLoader(..., num_workers=0 -> 2, persistent_workers=True)".
[[nodiscard]] std::string changeLine(const Analysis& analysis, const LoaderInfo& loader,
                                     const std::vector<Advice::Change>& changes);

}  // namespace stallprof
