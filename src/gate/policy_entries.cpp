// SPDX-License-Identifier: MIT
#include "gate/policy_entries.h"

#include "base/text.h"

namespace stallprof {
namespace {

std::string contradiction(const MetricEntry& entry, const Policy& policy) {
  const std::string name = inQuotes(entry.common.path);
  if (entry.exact && entry.shift)
    return name + " is deterministic: give tolerance, not max_regression";
  if (!entry.exact && entry.common.tolerance > 0)
    return name + " has a tolerance, but is not deterministic = true";
  if (entry.min && entry.max && *entry.min > *entry.max) return name + " has a min above its max";
  for (const Check& other : policy.checks)
    if (other.path == entry.common.path)
      return name + " is already in line " + std::to_string(other.line);
  const bool compares = entry.shift || !(entry.exact || entry.max || entry.min);
  if (compares && entry.common.worse == Worse::kNeither)
    return name +
           " is neither better nor worse when it grows: say worse = \"higher\" or \"lower\", "
           "deterministic = true, max or min";
  return "";
}

}  // namespace

std::string addChecks(const MetricEntry& entry, Policy& policy) {
  if (std::string why = contradiction(entry, policy); !why.empty()) return why;
  const auto add = [&](Check::Kind kind) -> Check& {
    policy.checks.push_back(entry.common);
    policy.checks.back().kind = kind;
    return policy.checks.back();
  };
  if (entry.exact)
    add(Check::Kind::kExact);
  else if (entry.shift || !(entry.max || entry.min))
    add(Check::Kind::kShift);
  if (entry.max) add(Check::Kind::kBudget).bound = *entry.max;
  if (!entry.min) return "";
  Check& minimum = add(Check::Kind::kBudget);
  minimum.bound = *entry.min;
  minimum.atMost = false;
  return "";
}

std::string applyWaiver(const Waiver& waiver, Policy& policy) {
  bool used = false;
  for (Check& check : policy.checks)
    if (check.path == waiver.metric) {
      check.waiver = waiver.reason + " (until " + waiver.expires + ")";
      used = true;
    }
  return used ? "" : "a waiver for " + inQuotes(waiver.metric) + ", which no [[metric]] asks of";
}

}  // namespace stallprof
