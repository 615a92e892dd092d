// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "analysis/facts/source_line.h"

// Numbers that are compared up to what sampling or rounding moves.
namespace stallprof::test {

inline bool near(double a, double b, double by = 0.01) { return std::abs(a - b) <= by; }

// To two and to three hundredths, for shares of few samples.
inline bool near2(double a, double b) { return near(a, b, 0.02); }
inline bool near3(double a, double b) { return near(a, b, 0.03); }

// Known, and the same but for rounding.
inline bool equals(Maybe<double> value, double expected, double by = 1e-9) {
  return value && near(*value, expected, by);
}

}  // namespace stallprof::test
