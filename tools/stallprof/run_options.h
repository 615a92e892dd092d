// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
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

struct AttachWords {
  LaunchOptions options;
  int pid = 0;
  Nanos limit{};  // 0: none
  int status = -1;
  std::string error;  // both as in RunWords
};

// The words of `stallprof attach`: those of `run` that make sense for a program that runs already.
[[nodiscard]] AttachWords parseAttach(const Words& words);

}  // namespace stallprof
