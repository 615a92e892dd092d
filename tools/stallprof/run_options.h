// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "launch/options.h"
#include "stallprof/command.h"

namespace stallprof {

struct RunWords {
  LaunchOptions options;
  int status = -1;    // 0 or more: stop here with it
  std::string error;  // one line, not said yet
};

// The words of `stallprof run`. Options end at the first word that is none, or at `--`.
[[nodiscard]] RunWords parseRun(const Words& words);

}  // namespace stallprof
