// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "classify/rule_table.h"

namespace stallprof {

// For a run in which nobody was seen to step and no interpreter ran: the main thread of the process
// that used most CPU, over all of its life. Exact are its times on a CPU, queued and blocked; what
// they were for is by samples: on a CPU by native ones (classify/native_work.h), blocked by what it
// was blocked in, and where it waits for threads of its process by what those did. Functions that
// run on threads of an OpenMP pool are compute, unless those threads read files. Code of libc is
// for whoever called it. Own code that no name and no pool explains is for what its loop does
// (machine_code/loop_code.h): where such loops add to numbers in memory, sums of products compute;
// loops over bytes, and code that draws random numbers or has libc read and compare text, make
// data. Half of a function's samples decide for the rest of it. What nothing says is `other`.
// Without native samples nothing names CPU time. Threads beside it that make more of the data than
// it does itself are those that it waits for. Where it trains, another that runs none of its
// functions makes data, whatever its loops seem to be for.
[[nodiscard]] TrainerFacts attributeNativeRun(const Trace& trace, const RuleTable& rules);

}  // namespace stallprof
