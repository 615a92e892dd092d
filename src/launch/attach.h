// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include "base/time.h"
#include "launch/setup/options.h"

namespace stallprof {

// `stallprof attach`: records process `pid` and all that it starts or has started, from outside,
// until it ends, `limit` is over (0: none) or somebody asks us to leave (Ctrl-C, SIGTERM). The
// process is only read: nothing is put into it, and no signal goes to it. `options.command` is
// not used. The status to exit with: 0, or 1 where it cannot be recorded or the recorder died
// before the end.
[[nodiscard]] int attachSession(pid_t pid, const LaunchOptions& options, Nanos limit);

}  // namespace stallprof
