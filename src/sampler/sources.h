// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sampler/proc/sampler.h"

namespace stallprof {

// What the samplers could see of process `pid` here, found by taking one sample and throwing it
// away. For doctor; a run records the same as SourceState events.
[[nodiscard]] std::vector<SourceReport> samplerSources(const std::string& root, pid_t pid);

}  // namespace stallprof
