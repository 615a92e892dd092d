// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "analysis/analysis.h"
#include "analysis/facts.h"
#include "analysis/roles.h"
#include "classify/rule_table.h"
#include "trace/trace.h"

namespace stallprof {

struct AnalyzeOptions {
  std::optional<double> pricePerHour;
  std::string recording;             // path as the user gave it, for verify commands
  const RuleTable* rules = nullptr;  // null: the built-in ones
};

// The whole answer from a recording. Pure: same trace, same answer; no files, clock or randomness
// without a fixed seed.
[[nodiscard]] Analysis analyze(const Trace& trace, const AnalyzeOptions& options = {});

// The same answer with what it was drawn from, for a sink that shows single steps.
struct Analyzed {
  Analysis analysis;
  TrainerFacts trainer;  // of the trainer that the top level is of; without steps where none is
  Roles roles;
};
[[nodiscard]] Analyzed analyzeWithFacts(const Trace& trace, const AnalyzeOptions& options = {});

}  // namespace stallprof
