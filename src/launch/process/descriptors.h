// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "base/fd.h"

namespace stallprof {

// All of this process, with one that is closed again by the end of the call.
[[nodiscard]] std::vector<int> openDescriptors();

// Closes every descriptor from `from` up except `kept`. A pipe or lock of our caller's that we held
// on to would outlive the command's own copy of it.
void closeDescriptors(int from, std::vector<int> kept);
// Those of files that this process holds a record lock on (fcntl, lockf): it outlives exec, is this
// process's alone, and goes with the first of them that is closed here.
[[nodiscard]] std::vector<int> lockedDescriptors();

// 0 and 1 to /dev/null; with `error` 2 as well.
void silence(bool error);

// For a process that shares nothing with its caller: 0-2 to /dev/null, all others but `kept`
// closed.
[[nodiscard]] Fd keepOnly(Fd kept);

}  // namespace stallprof
