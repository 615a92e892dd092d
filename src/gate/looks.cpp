// SPDX-License-Identifier: MIT
#include "gate/looks.h"

#include <fmt/core.h>

#include <algorithm>

namespace stallprof {

std::vector<std::size_t> looksOf(std::size_t runs, std::size_t most, std::size_t least) {
  std::vector<std::size_t> looks;
  most = std::max(most, runs);
  for (std::size_t n = runs; n < most; n += (n + 1) / 2) {
    if (5 * most < 6 * n) break;  // the last look would add less than a fifth: it takes all
    if (n >= least) looks.push_back(n);
  }
  looks.push_back(most);
  return looks;
}

Policy policyOfALook(Policy policy, std::size_t looks) {
  policy.alpha /= static_cast<double>(std::max<std::size_t>(1, looks));
  return policy;
}

bool wantsMore(const GateResult& result) {
  if (result.outcome != Outcome::kPass && result.outcome != Outcome::kInconclusive) return false;
  return std::any_of(result.checks.begin(), result.checks.end(), [](const CheckResult& c) {
    return c.level() == Level::kError && c.check.kind == Check::Kind::kShift &&
           c.verdict == CheckVerdict::kInconclusive;
  });
}

std::string looksText(const std::vector<std::size_t>& looks, std::size_t taken, double alpha) {
  std::string after;
  for (std::size_t i = 0; i < std::min(taken, looks.size()); ++i)
    after += (i == 0 ? "" : i + 1 == taken ? " and " : ", ") + std::to_string(looks[i]);
  return fmt::format(
      "Looked after {} runs a side, of at most {}; each of {} planned looks tests at {:.2g} %, so "
      "that all of them keep the policy's {:.2g} %.",
      after, looks.back(), looks.size(), alpha * 100 / static_cast<double>(looks.size()),
      alpha * 100);
}

}  // namespace stallprof
