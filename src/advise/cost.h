// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"

namespace stallprof {

// What an epoch costs, and what of it the first-ranked fix is predicted to save (null where its
// gain is an assumption). An epoch is the
// median of those seen; both are null without one. Prices below 0 count as 0.
[[nodiscard]] Cost costOf(const Analysis& analysis, double pricePerHour);

}  // namespace stallprof
