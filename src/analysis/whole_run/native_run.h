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
// for whoever called it. Code that draws random numbers, in no such function and in none whose name
// says that it trains, makes data. What nothing names is `other`. Without native samples nothing
// names CPU time.
[[nodiscard]] TrainerFacts attributeNativeRun(const Trace& trace, const RuleTable& rules);

}  // namespace stallprof
