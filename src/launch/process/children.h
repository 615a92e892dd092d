// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <vector>

namespace stallprof {

// Of a process of one thread: its children, zombies and adopted orphans among them. Empty where the
// kernel does not list them (CONFIG_PROC_CHILDREN), or by other numbers than ours.
[[nodiscard]] std::vector<pid_t> childProcesses();

// By a signal, or at a debugger's hands; taken for so where it cannot be asked.
[[nodiscard]] bool isStopped(pid_t pid);

// SIGTERM to each of `pids` that is not among those `sent` one already; to what reads from a pipe,
// as `tee` does, only where nothing else is left: what writes to it would die of writing to nobody.
void terminateOnce(const std::vector<pid_t>& pids, std::vector<pid_t>& sent);

}  // namespace stallprof
