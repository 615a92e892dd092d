// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "analysis/facts/analysis.h"

namespace stallprof {

// Whether two sides differ, by the order of their values alone (Wilcoxon, Mann and Whitney): one
// value far off counts no more than one just off, so a slow run cannot hide a change, and where
// nothing changed the chance of `worse` under alpha is at most alpha, however the values are
// spread.
struct RankTest {
  double size = 0;      // Hodges and Lehmann: the median of all differences head - base
  double low = 0;       // one-sided bounds at alpha: the size is above `low`,
  double high = 0;      //   and below `high`
  double worse = 0.5;   // P(head ranked this high | no difference), equal values at mid-rank
  double better = 0.5;  // P(head ranked this low | no difference)
};

// Exact up to 50 values a side, normal beyond. Null where so few values cannot be ordered into
// anything rarer than alpha, or only into what is rarer than half of it: too blunt to be used.
[[nodiscard]] Maybe<RankTest> rankTest(std::span<const double> base, std::span<const double> head,
                                       double alpha);

}  // namespace stallprof
