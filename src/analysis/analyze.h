// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/blame/facts_accumulator.h"
#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/steps/roles.h"
#include "trace/trace.h"

namespace stallprof {

// The whole answer from a recording, by the built-in rules. Pure: same trace, same answer; no
// files, clock or randomness without a fixed seed.
[[nodiscard]] Analysis analyze(const Trace& trace);

// The same answer with what it was drawn from, for a sink that shows single steps.
struct Analyzed {
  Analysis analysis;
  TrainerFacts trainer;  // of the trainer that the top level is of; without steps where none is
  Roles roles;
  std::vector<TrainerFacts> others;  // of the other trainers that step

  // Of one of `roles.trainers`; of one without steps from the trace.
  [[nodiscard]] TrainerFacts factsOf(const Trace& trace, TrainerIdentity who) const;
};
[[nodiscard]] Analyzed analyzeWithFacts(const Trace& trace);
// The same where `trace` is what is left of a run of which `facts` read every part, and by its
// rules; used up.
[[nodiscard]] Analyzed analyzeWithFacts(const Trace& trace, FactsAccumulator& facts);

}  // namespace stallprof
