// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "analysis/analysis.h"
#include "analysis/facts.h"
#include "analysis/roles.h"
#include "classify/rule_table.h"
#include "trace/trace.h"

namespace stallprof {

class LongRun;

struct AnalyzeOptions {
  std::optional<double> pricePerHour;
  std::string recording;             // path as the user gave it, for verify commands
  const RuleTable* rules = nullptr;  // null: the built-in ones
  LongRun* parts = nullptr;          // what the trace was read in parts by; used up
};

// The whole answer from a recording. Pure: same trace, same answer; no files, clock or randomness
// without a fixed seed.
[[nodiscard]] Analysis analyze(const Trace& trace, const AnalyzeOptions& options = {});

// The same answer with what it was drawn from, for a sink that shows single steps.
struct Analyzed {
  Analysis analysis;
  TrainerFacts trainer;  // of the trainer that the top level is of; without steps where none is
  Roles roles;
  std::vector<TrainerFacts> others;  // of other trainers, where the trace was read in parts

  // Of one of `roles.trainers`, told from the trace where it is not here.
  [[nodiscard]] TrainerFacts factsOf(const Trace& trace, TrainerIdentity who) const;
};
[[nodiscard]] Analyzed analyzeWithFacts(const Trace& trace, const AnalyzeOptions& options = {});

}  // namespace stallprof
