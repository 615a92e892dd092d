// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace stallprof {

// False where /proc is of another pid namespace than this process: what it shows by our number, or
// by a child's, is somebody else. True, too, where there is none.
[[nodiscard]] bool procHasOurNumbers();
inline constexpr char kForeignProc[] = "/proc is of another pid namespace";
// What is in /proc/PID/status behind "KEY:" and blanks; empty where it cannot be read.
[[nodiscard]] std::string statusOf(pid_t pid, std::string_view key);
// Of another user namespace the kernel asks no capability for what is the host's, and nobody in it
// may set what only the host's root may.
[[nodiscard]] bool inFirstUserNamespace();

}  // namespace stallprof
