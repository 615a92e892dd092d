// SPDX-License-Identifier: MIT
#include "analysis/facts/stack_facts.h"

#include <algorithm>
#include <cmath>

namespace stallprof {

// The normal distribution has 90 % within so many sigmas.
constexpr double kNormal90 = 1.645;

Share shareOf(double part, const SampleSum& all) {
  if (all.samples <= 0) return {};
  const double p = std::clamp(part / all.samples, 0.0, 1.0), n = all.effective(), z = kNormal90;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {p, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace stallprof
