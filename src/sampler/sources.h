// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "event/vocabulary.h"

namespace stallprof {

struct SourceReport {
  std::string name;  // as in SourceState events
  Coverage state = Coverage::kAbsent;
  std::string why;
};

// What the samplers could see of process `pid` here, found by taking one sample and throwing it
// away. For doctor; a run records the same as SourceState events.
[[nodiscard]] std::vector<SourceReport> samplerSources(const std::string& root, pid_t pid);

}  // namespace stallprof
