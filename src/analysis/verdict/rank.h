// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/evidence.h"

// Ranking and verdict, and what is said beside them; the rules are in analysis/findings/README.md.
namespace stallprof {

// The gain a finding is ranked by: the share of the window its first fix saves; where nothing is
// predicted, its own share, as the most any fix could save.
[[nodiscard]] double gainOf(const Finding& finding);
[[nodiscard]] double scoreOf(const Finding& finding);  // gain x confidence

// Sorts those first whose gain is that of a replayed fix worth 5 %, as no assumed gain goes above
// one, then by score; numbers the ranks, and names the parent of findings that overlap.
void rankFindings(std::vector<Finding>& findings);

// The same once fixes have been measured: what was measured counts in the place of what was
// predicted, in a finding first what gained and last what did not. Bound by, ties and confidence
// follow; whether the run is healthy stays.
void rankVerified(std::vector<Finding>& findings, Verdict& verdict);

// Bound by what, healthy or not, how sure; why there is no verdict, where there is none; which
// findings are tied. Adds the healthy finding first where nothing gains 5 %.
[[nodiscard]] Verdict verdictOf(const Evidence& e, std::vector<Finding>& findings);

// The program itself annotates what most of its time was.
[[nodiscard]] bool annotated(const Evidence& e);
// The steps are those of the trainer's Python, or it says itself what they are.
[[nodiscard]] bool pythonSeen(const Evidence& e);
// Where the phases of the trainer's own code are known by samples alone: a function that takes a
// fifth of the time is known to make data by five samples that read or transform, a fifth of its
// own (steps/own_phases.cpp). With fewer, such code counts as compute because nothing else is known
// of it, and so do samples of making data that are too few to be a share of the steps.
[[nodiscard]] Maybe<NoVerdict> fewSamples(const Evidence& e);
// Without a loader all of a step is booked as compute. Where no stack of it was seen, or the thread
// was blocked for a part of it, and may have waited for a queue of its own or a device, that is not
// known to be compute.
[[nodiscard]] Maybe<NoVerdict> blindStep(const Evidence& e);
// Of a run in which nothing gains 5 %: what its time is for instead, where that is known to be
// health.
[[nodiscard]] Maybe<Finding> healthyFinding(const Evidence& e);

// What was checked and is fine, each with its number; and what was not measured in this run.
[[nodiscard]] std::vector<std::string> notAProblem(const Evidence& e,
                                                   const std::vector<Finding>& findings);
[[nodiscard]] std::vector<std::string> notMeasured(const Evidence& e);
// What limits how far the figures of this run carry, and no finding says: other users of its cores.
[[nodiscard]] std::vector<std::string> caveats(const Evidence& e,
                                               const std::vector<Finding>& findings);

}  // namespace stallprof
