// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/findings/device_rules.h"

// What the findings about several ranks of one host share.
namespace stallprof {

// Of the uneven steps: it is the one that is late, and not one after the other.
inline constexpr double kOneRank = 0.8;

// The rank that spends least time in collectives arrives last: the others wait for it in theirs.
// Null where none is far below the others.
[[nodiscard]] const RankFacts* lastToArrive(const Evidence& e);

// "rank 1 (process 4711)"; "the process 4711" where its rank is not known.
[[nodiscard]] std::string nameOfRank(const Evidence& e, ProcessId process);

}  // namespace stallprof
