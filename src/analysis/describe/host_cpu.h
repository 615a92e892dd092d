// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"
#include "trace/trace.h"

namespace stallprof {

// The CPU fields of RunFacts for the trainer's window: how many cores the job could use, and who
// used them. README.md of src/analysis/describe has the definitions.
void measureCpu(const Trace& trace, const TrainerFacts& trainer, RunFacts& run);

}  // namespace stallprof
