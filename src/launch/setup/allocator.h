// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stallprof {

// What `--allocator` asks for, as NAME=VALUE of the command's environment: "keep"
// (base/malloc_tunables.h), jemalloc, tcmalloc or mimalloc (where they are below `root`, by
// LD_PRELOAD), or a library's path. What the same variable has already, by the last of
// `environment`, NAME=VALUE each, else in this process, stays in it. The Error says what was
// searched, or why the library cannot be preloaded.
[[nodiscard]] Result<std::string> allocatorVariable(
    std::string_view name, const std::vector<std::string>& environment = {},
    const std::string& root = "");

}  // namespace stallprof
