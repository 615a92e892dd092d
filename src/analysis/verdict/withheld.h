// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/verdict/rank.h"

// Why no verdict is given; and what that and the ranking both ask of findings.
namespace stallprof {

inline constexpr std::size_t kMinSteps = 20;  // below: no verdict
inline constexpr double kMuchData = 0.10;     // of the window; above, and no fix of 5 %: no verdict

// ---- of findings (rank.cpp) ----

// Its gain is that of a replayed fix worth 5 %.
[[nodiscard]] bool surelyFixed(const Finding& f);
// As its id has it: findings of the host are `other` by time.
[[nodiscard]] std::string phaseName(const Finding& f);
// What other programs of the host do is the run's own problem from a quarter of its time on;
// without steps (`stepless`) it never says what the time itself is for.
[[nodiscard]] bool isCaveat(const Finding& f, bool stepless);
// Only gains of one kind can be said to be near each other.
[[nodiscard]] bool rivals(const Finding& a, const Finding& b);
// One of two findings is shown as a part of the other: whichever is first, it is the same cause.
[[nodiscard]] bool nested(const Finding& a, const Finding& b);
[[nodiscard]] bool worthIt(const Finding& f);
[[nodiscard]] bool isOfRest(const Finding& f);

// ---- of a verdict (withheld.cpp) ----

// Waited for and handed over, in however small costs; a device that is busy waits for none of it.
[[nodiscard]] double forData(const Evidence& e);
// Without steps what most of the time is for comes first, and what little could be gained beside it
// follows. In a program without an interpreter the split is by functions' names and loops: more may
// be wrong there.
[[nodiscard]] bool mostlyComputes(const Evidence& e, const std::vector<Finding>& findings);
// Why no verdict may be given, if so. `anyFix`: some is worth 5 %.
[[nodiscard]] Maybe<NoVerdict> withheld(const Evidence& e, const std::vector<Finding>& findings,
                                        bool anyFix);
// A measured gain is a verdict beside what withheld one. Runs by turns have the other programs on
// both sides; what no phase explains could gain no more than its share.
[[nodiscard]] bool answeredByTrial(const Finding& first, const NoVerdict& withheld);

}  // namespace stallprof
