// SPDX-License-Identifier: MIT
#include "gate/interim.h"

#include <fmt/core.h>

#include <algorithm>

namespace stallprof {

std::vector<std::size_t> interimsOf(std::size_t runs, std::size_t maximum, std::size_t minimum) {
  std::vector<std::size_t> interims;
  maximum = std::max(maximum, runs);
  for (std::size_t n = runs; n < maximum; n += (n + 1) / 2) {
    if (5 * maximum < 6 * n) break;  // the last one would add less than a fifth: it takes all
    if (n >= minimum) interims.push_back(n);
  }
  interims.push_back(maximum);
  return interims;
}

Policy policyOfInterim(Policy policy, std::size_t interims) {
  policy.alpha /= static_cast<double>(std::max<std::size_t>(1, interims));
  return policy;
}

bool wantsMore(const GateResult& result) {
  if (result.outcome != Outcome::kPass && result.outcome != Outcome::kInconclusive) return false;
  return std::any_of(result.checks.begin(), result.checks.end(), [](const CheckResult& c) {
    return c.level() == Level::kError && c.check.kind == Check::Kind::kShift &&
           c.verdict == CheckVerdict::kInconclusive;
  });
}

std::string interimText(const std::vector<std::size_t>& interims, std::size_t taken, double alpha) {
  std::string after;
  for (std::size_t i = 0; i < std::min(taken, interims.size()); ++i)
    after += (i == 0 ? "" : i + 1 == taken ? " and " : ", ") + std::to_string(interims[i]);
  return fmt::format(
      "Analysed after {} runs a side, of at most {}; each of {} planned analyses tests at {:.2g} "
      "%, "
      "so that all of them keep the policy's {:.2g} %.",
      after, interims.back(), interims.size(), alpha * 100 / static_cast<double>(interims.size()),
      alpha * 100);
}

}  // namespace stallprof
