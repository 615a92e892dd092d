// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "analysis/facts/analysis.h"
#include "gate/metrics.h"

// One number of the runs of two sides. The run is what repeats; steps of one run share its luck.
namespace stallprof {

// How a metric is measured against its base.
struct Scale {
  bool points = false;        // differences of the numbers; else of their logarithms
  bool higherIsWorse = true;  // else the sides change places, so that a shift up is always worse

  // A worsening of `change` (0.03 is 3 % or 3 points) as a shift, and back as the metric shows it:
  // a rate whose shift is that of +25 % shows -20 %.
  [[nodiscard]] double shiftOf(double change) const;
  [[nodiscard]] double shownOf(double shift) const;
  // Of what it shows, for changeText.
  [[nodiscard]] const char* unit() const { return points ? "points" : "%"; }
};

// Runs of one side, such that differences are shifts; null where a factor is asked of what is not
// above zero, or a number is none.
[[nodiscard]] Maybe<std::vector<double>> onScale(std::span<const double> values,
                                                 const Scale& scale);

// How far the head is from the base, in shifts: 0 is none, above is worse. By the order of the runs
// (gate/rank_test.h), so that one slow run hides nothing; by Welch's comparison of means where
// there are too few runs for that at alpha.
struct Shift {
  double size = 0;        // head against base
  double low = 0;         // one-sided bounds at alpha: the shift is above `low`,
  double high = 0;        //   and below `high`
  double worse = 0.5;     // P(a shift this far up | none)
  double better = 0.5;    // P(a shift this far down | none)
  double detectable = 0;  // a worsening this large is called one in nine of ten such comparisons
  double noise = 0;       // deviation between runs of a side; by order, without those far off
  bool byOrder = false;   // else Welch
};

// Null under two values a side, or where a factor is asked of a number that is not above zero.
// `floor` is the least shift that counts.
[[nodiscard]] Maybe<Shift> measureShift(std::span<const double> base, std::span<const double> head,
                                        const Scale& scale, double alpha, double floor);

}  // namespace stallprof
