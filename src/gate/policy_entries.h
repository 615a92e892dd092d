// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "gate/policy.h"

// What a policy file says, on its way to what is asked. Each returns its complaint; "" is none.
namespace stallprof {

struct MetricEntry {  // [[metric]]
  Check common;
  bool shift = false, exact = false;  // max_regression or its kin; deterministic
  Maybe<double> max, min;
};
[[nodiscard]] std::string addChecks(const MetricEntry& entry, Policy& policy);

// Why a [[finding]] with this id, or beginning of ids before a *, can never meet one.
[[nodiscard]] std::string unknownFinding(const std::string& id);

struct Waiver {  // [[waiver]]
  std::string metric, reason, expires;
  std::uint32_t line = 0;
};
[[nodiscard]] std::string applyWaiver(const Waiver& waiver, Policy& policy);

}  // namespace stallprof
