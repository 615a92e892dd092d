// SPDX-License-Identifier: MIT
#pragma once

namespace stallprof {

// False where /proc is of another pid namespace than this process: what it shows by our number, or
// by a child's, is somebody else. True, too, where there is none.
[[nodiscard]] bool procHasOurNumbers();
inline constexpr char kForeignProc[] = "/proc is of another pid namespace";

}  // namespace stallprof
