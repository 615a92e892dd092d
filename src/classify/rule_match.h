// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "classify/frames.h"
#include "classify/rule_table.h"

namespace stallprof {

// One frame as rules see it. Of a native frame `file` is its library, `function` its symbol.
struct FrameName {
  bool native = false;
  std::string_view function, file;
};

// The rule that claims a frame where a thread works for `side`; null where none does. Users' rules
// go first. Of the others the most exact: one that names functions before one that names none, then
// the longest module or library pattern, then the order of the table. Only users' rules may claim
// the user's own code. The rule lives as long as the table.
[[nodiscard]] const PhaseRule* claim(const RuleTable& table, const FrameName& frame, Side side);

}  // namespace stallprof
