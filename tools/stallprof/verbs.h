// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stallprof/command.h"

namespace stallprof {

// THE list of commands: dispatch, usage, completions and manual pages are drawn from it.
struct Verb {
  std::string_view name, takes, summary;
  std::unique_ptr<Command> (*make)();
};
[[nodiscard]] const std::vector<Verb>& verbs();
[[nodiscard]] const Verb* findVerb(std::string_view name);  // null: none

// What `stallprof --help` prints.
[[nodiscard]] std::string usage();

}  // namespace stallprof
