// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/facts/run_facts.h"
#include "analysis/model/gains.h"

namespace stallprof {

// The bounds no arrangement of the same work can beat: the step takes at least the longest
// of them. One entry a stage, slowest first, in steps a second, each with its gap to what was
// measured. Checkpoints and evaluation add to every one: a trainer that saves makes no steps
// meanwhile.
[[nodiscard]] std::vector<Ceiling> ceilingsOf(const Gains& gains, const RunFacts& run);

// Takes out of `ceilings` those below the measured pace by more than the model's error, and returns
// them: what the run has beaten is no bound of it. Within that error the bound is the pace itself.
[[nodiscard]] std::vector<Ceiling> takeMisfits(std::vector<Ceiling>& ceilings, double measured);

// Share of W workers' time that in-order delivery leaves usable when the trainer is not the limit:
// 1 with steady batches, 0.4 to 0.8 with heavy tails.
[[nodiscard]] double headOfLineEfficiency(const Gains& gains);

// True where the two tightest ceilings are within 10 %: fixing one alone gains little.
[[nodiscard]] bool nearTie(const std::vector<Ceiling>& ceilings);

}  // namespace stallprof
