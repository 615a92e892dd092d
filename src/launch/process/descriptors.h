// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "base/fd.h"

namespace stallprof {

// Closes every descriptor from `from` up except `kept`. A pipe or lock of our caller's that we held
// on to would outlive the command's own copy of it.
void closeDescriptors(int from, std::initializer_list<int> kept);

// 0 and 1 to /dev/null; with `error` 2 as well.
void silence(bool error);

// For a process that shares nothing with its caller: 0-2 to /dev/null, all others but `kept`
// closed.
[[nodiscard]] Fd keepOnly(Fd kept);

}  // namespace stallprof
