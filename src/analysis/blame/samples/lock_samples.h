// SPDX-License-Identifier: MIT
#pragma once

#include <set>

#include "analysis/facts/stack_facts.h"
#include "analysis/facts/stack_samples.h"
#include "base/interval.h"
#include "classify/stack_labels.h"
#include "trace/trace.h"

namespace stallprof {

// What samples in `within` say of the interpreter's lock: of the Python threads of the processes
// that make batches (`producing`) how often those that want it wait, and who holds it beside the
// trainer's thread in its process: `makers`, or others; of others that do not hand data over, too,
// it says in which functions.
void addLockSamples(StackFacts& facts, const Trace& trace, const StackLabels& labels,
                    const std::set<ProcessId>& producing, ThreadId trainer,
                    const std::set<ThreadId>& makers, const Interval& within);
// And a sample of the training thread's own.
void addOwnLock(StackFacts& facts, const Sample& sample);

}  // namespace stallprof
