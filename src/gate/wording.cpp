// SPDX-License-Identifier: MIT
#include "gate/wording.h"

#include <algorithm>

#include "base/units.h"

namespace stallprof {

std::string metricText(const Maybe<double>& value, const MetricKind& kind) {
  if (!value) return kNotMeasuredText;
  // Whole percents hide what moves by a point or two.
  if (kind.inPoints()) return tenthPercentText(*value);
  return valueText(*value, std::string(kind.unit));
}

std::string runsText(std::size_t count) { return countOf(static_cast<std::int64_t>(count), "run"); }

std::string suspectText(const Suspect& suspect) {
  std::string out = escapeTerminal(suspect.id, 80);
  if (suspect.file.empty()) return out;
  out += " at " + escapeTerminal(suspect.file, 200);
  return suspect.line > 0 ? out + ":" + std::to_string(suspect.line) : out;
}

std::string verdictText(const CheckResult& r) {
  if (r.advisory) return "advisory";
  const bool moved = r.verdict == CheckVerdict::kRegressed || r.verdict == CheckVerdict::kImproved;
  if (moved && r.change && r.kind.inPoints() && r.level() == Level::kInfo)
    return *r.change < 0 ? "lower" : "higher";
  std::string word(nameOf(r.verdict));
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

std::string checkText(const CheckResult& r) {
  const std::string label(r.kind.label);
  const std::string values = metricText(r.base, r.kind) + " to " + metricText(r.head, r.kind);
  const std::string moved =
      r.change ? changeText(*r.change, r.scale.unit()) + ", " + values : values;
  switch (r.verdict) {
    case CheckVerdict::kRegressed:
      return r.check.kind == Check::Kind::kExact ? label + " changed (" + r.why + ")"
                                                 : label + " regressed (" + moved + ")";
    case CheckVerdict::kImproved:
      return label + " improved (" + moved + ")";
    case CheckVerdict::kSame:
      return label + " is the same";
    case CheckVerdict::kInconclusive:
      return label + " is inconclusive (" + r.why + ")";
    case CheckVerdict::kOverBudget:
      return label + " is " + metricText(r.head, r.kind) + " (" + r.why + ")";
    case CheckVerdict::kWithinBudget:
      return label + " is within its budget";
    case CheckVerdict::kNotMeasured:
      break;
  }
  return label + " was not measured";
}

}  // namespace stallprof
