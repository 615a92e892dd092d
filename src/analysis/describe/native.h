// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/roles.h"

namespace stallprof {

// What samples of native code in the window of `facts` say: the table of libraries and functions of
// the whole job for `analysis.native`, and under each Python function of its table and its findings
// the native function that most of that one's CPU time went to. A finding without any Python
// function gets the hottest of its side. Does nothing where no sample is.
void addNative(const Trace& trace, const Roles& roles, const TrainerFacts& facts,
               Analysis& analysis);

}  // namespace stallprof
