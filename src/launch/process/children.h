// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <vector>

namespace stallprof {

// Of a process of one thread: its children, zombies and adopted orphans among them. Empty where the
// kernel does not list them (CONFIG_PROC_CHILDREN).
[[nodiscard]] std::vector<pid_t> childProcesses();

}  // namespace stallprof
