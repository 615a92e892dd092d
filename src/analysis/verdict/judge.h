// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/analysis.h"
#include "analysis/facts/facts.h"
#include "analysis/facts/run_facts.h"

namespace stallprof {

// Ceilings, findings by rank (without the sentences of their advice, which `advise` writes) and the
// verdict on one trainer. Pure.
struct Judgement {
  std::vector<Ceiling> ceilings;
  std::vector<Finding> findings;
  Verdict verdict;
  std::vector<std::string> caveats, notAProblem, notMeasured;
};
[[nodiscard]] Judgement judge(const Trace& trace, const TrainerFacts& trainer, const RunFacts& run);

// For a verdict that is withheld because too much is unexplained: the line of the loop at which
// more than half of that is.
void placeUnexplained(Verdict& verdict, const std::vector<LineInfo>& lines);

}  // namespace stallprof
