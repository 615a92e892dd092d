// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/stack_samples.h"
#include "base/interval.h"
#include "trace/trace.h"

namespace stallprof {

// At work, or kept from it by the interpreter's lock alone.
[[nodiscard]] bool atWork(const Sample& sample);

// Whether the thread's work in `within` goes with `fetches` (sorted, apart from each other): one
// that works half as much and more while no batch is made works for something else.
[[nodiscard]] bool worksForFetches(const Trace& trace, const ThreadLife& thread,
                                   const Intervals& fetches, const Interval& within);

}  // namespace stallprof
