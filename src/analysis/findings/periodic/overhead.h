// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/findings/hot.h"

// What the findings about periodic work share: it returns every so many steps and holds up the
// training meanwhile.
namespace stallprof {

// The time is the trainer's own, so what leaves it shortens the run by as much; the arguments are
// the shares of it that are left.
[[nodiscard]] Prediction withoutOverhead(double share, double likely, double minimum,
                                         double maximum);

// Of the training thread's time.
[[nodiscard]] Share shareOfOverhead(const Evidence& e, OverheadKind overhead);

[[nodiscard]] Finding overheadFinding(const Evidence& e, double share, std::string title);
// How sure the share is, and the line where most of it is; lowers the confidence of a wide one.
void addSamplesEvidence(Finding& f, const Evidence& e, const Share& share);
void pointAtOverhead(Finding& f, const Evidence& e, OverheadKind overhead);

}  // namespace stallprof
