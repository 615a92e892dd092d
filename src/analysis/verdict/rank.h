// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "analysis/findings/evidence.h"

// Ranking and verdict; the rules are in analysis/findings/README.md.
namespace stallprof {

// The gain a finding is ranked by: the share of the window its first fix saves; where nothing is
// predicted, its own share, as the most any fix could save.
[[nodiscard]] double gainOf(const Finding& finding);
[[nodiscard]] double scoreOf(const Finding& finding);  // gain x confidence

// Its gain is that of a replayed fix worth 5 %: no finding whose gain is assumed ranks above it.
[[nodiscard]] bool surelyFixed(const Finding& finding);

// Sorts by that, then by score; numbers the ranks, and names the parent of findings that overlap.
void rankFindings(std::vector<Finding>& findings);

// The same once fixes have been measured: what was measured counts in the place of what was
// predicted, in a finding first what gained and last what did not. Bound by, ties and confidence
// follow; whether the run is healthy stays.
void rankVerified(std::vector<Finding>& findings, Verdict& verdict);

// Bound by what, healthy or not, how sure; why there is no verdict, where there is none; which
// findings are tied. Adds the healthy finding first where nothing gains 5 %.
[[nodiscard]] Verdict verdictOf(const Evidence& e, std::vector<Finding>& findings);

}  // namespace stallprof
