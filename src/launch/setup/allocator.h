// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stallprof {

// What `--allocator` asks for, as NAME=VALUE of the command's environment: "keep"
// (base/malloc_tunables.h), jemalloc, tcmalloc or mimalloc (where they are below `root`, by
// LD_PRELOAD), or a library's path. What this process has in the same variable stays in it. The
// Error says what was searched.
[[nodiscard]] Result<std::string> allocatorVariable(std::string_view name,
                                                    const std::string& root = "");

}  // namespace stallprof
