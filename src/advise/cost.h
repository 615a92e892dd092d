// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/facts/analysis.h"

namespace stallprof {

// What an epoch costs, and what of it the first-ranked fix saves: as trials measured it, else as it
// is predicted (null where its gain is an assumption). An epoch is the median, from begin to begin,
// of those that were recorded whole; all is null without one. With `epochs` (above 0), time and
// money of so many. Prices below 0 count as 0.
[[nodiscard]] Cost costOf(const Analysis& analysis, Maybe<double> pricePerHour,
                          Maybe<double> epochs = {});

}  // namespace stallprof
