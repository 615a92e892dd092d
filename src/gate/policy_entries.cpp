// SPDX-License-Identifier: MIT
#include "gate/policy_entries.h"

#include <string_view>
#include <vector>

#include "analysis/verdict/registry.h"
#include "base/text.h"

namespace stallprof {
namespace {

std::string contradiction(const MetricEntry& entry, const Policy& policy) {
  const std::string name = inQuotes(entry.common.path);
  if (entry.exact && entry.shift)
    return name + " is deterministic: give tolerance, not max_regression";
  if (!entry.exact && entry.common.tolerance > 0)
    return name + " has a tolerance, but is not deterministic = true";
  if (!entry.shift && entry.common.minAbsolute > 0 && (entry.exact || entry.max || entry.min))
    return name + " has a min_abs, which only max_regression reads";
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
  minimum.isMax = false;
  return "";
}

std::string unknownFinding(const std::string& id) {
  const bool many = id.ends_with('*');
  const std::string_view asked = std::string_view(id).substr(0, id.size() - (many ? 1 : 0));
  std::vector<std::string_view> ids;
  bool phase = false;
  for (const FindingDefinition* definition : allFindings()) {
    const std::string_view known = definition->id;
    if (many ? known.starts_with(asked) : known == asked) return "";
    phase = phase || known.starts_with(std::string(asked) + '.');
    ids.push_back(known);
  }
  return inQuotes(id) + " is no finding" +
         (phase ? "; all of that phase are " + inQuotes(std::string(asked) + ".*")
                : didYouMean(id, ids));
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
