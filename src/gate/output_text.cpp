// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "gate/outputs.h"
#include "gate/wording.h"
#include "present/words/page.h"

namespace stallprof {
namespace {

// "FAIL" and its kin: one word that a log is searched for.
std::string wordOf(const GateResult& r) {
  constexpr const char* kWords[] = {"PASS", "FAIL", "INCONCLUSIVE", "NOT COMPARABLE",
                                    "WORKLOAD FAILED"};
  return kWords[static_cast<std::size_t>(r.outcome)];
}

// The interval that holds the change but for twice alpha, in the unit of the change.
std::string intervalText(const CheckResult& c) {
  if (!c.shift || c.check.kind != Check::Kind::kShift) return "";
  const auto number = [&](double shift) {
    const std::string text = changeText(c.scale.shownOf(shift), c.scale.unit());
    return text.substr(0, text.find(' '));
  };
  const std::string low = number(c.shift->low), high = number(c.shift->high);
  return c.scale.higherIsWorse ? low + " .. " + high : high + " .. " + low;
}

// `columns`: of base and head each. 80 columns with an interval where these are 10.
std::string row(std::size_t columns, std::string_view verdict, std::string_view label,
                std::string_view base, std::string_view head, std::string_view change,
                std::string_view interval) {
  return padded(verdict, 14) + padded(label, 20) + padded(base, columns) + padded(head, columns) +
         padded(change, std::max<std::size_t>(12, columnsOf(change) + 1)) + std::string(interval);
}

std::string valueOrDash(const Maybe<double>& value, const MetricKind& kind) {
  return value ? metricText(value, kind) : "-";
}

// Which hold every value and a space: "12 min 30 s" is more than most.
std::size_t valueColumns(const GateResult& r) {
  std::size_t columns = 10;
  for (const CheckResult& c : r.checks)
    for (const auto& value : {c.base, c.head})
      columns = std::max(columns, columnsOf(valueOrDash(value, c.kind)) + 1);
  return columns;
}

Tone toneOf(const CheckResult& c) {
  if (failed(c.verdict)) return c.level() == Level::kError ? Tone::kBad : Tone::kPlain;
  if (c.level() == Level::kInfo) return Tone::kQuiet;
  return c.verdict == CheckVerdict::kImproved ? Tone::kGood : Tone::kPlain;
}

void table(Page& page, const GateResult& r) {
  const std::size_t columns = valueColumns(r);
  page.line(row(columns, "", "", "base", "head", "change", "interval"), Tone::kHeading);
  for (const CheckResult& c : r.checks) {
    page.line(row(columns, verdictText(c), c.kind.label, valueOrDash(c.base, c.kind),
                  valueOrDash(c.head, c.kind),
                  c.change && c.base ? changeText(*c.change, c.scale.unit()) : "", intervalText(c)),
              toneOf(c));
    std::string why = c.why;
    if (c.check.level != Level::kError)
      why += fmt::format("{}{}, does not fail", why.empty() ? "" : "; ", nameOf(c.check.level));
    if (c.check.waiver && failed(c.verdict)) why += "; waived: " + *c.check.waiver;
    if (!why.empty()) page.field("", 14, why, Tone::kQuiet);
  }
}

void advice(Page& page, const GateResult& r) {
  const bool few = std::any_of(r.checks.begin(), r.checks.end(),
                               [](const CheckResult& c) { return c.advisory && c.base; });
  if (few)
    page.field("", 0,
               fmt::format("Too few runs to separate a change from the noise between runs: give {} "
                           "or more a side.",
                           r.runsAsked));
  for (const CheckResult& c : r.checks)
    if (c.level() == Level::kError && !c.advisory && c.shift &&
        c.verdict == CheckVerdict::kInconclusive)
      page.field("", 0,
                 fmt::format("The runs of a side differ by {:.1f} %{}: more runs, or a "
                             "quieter host, would decide.",
                             c.shift->noise * 100, c.scale.points ? " of the window" : ""));
}

}  // namespace

std::string gateText(const GateResult& r, const GateOutput& options) {
  Page page(static_cast<std::size_t>(std::clamp(options.width, 80, 120)), options.colour);
  page.line("stallprof gate   base: " + runsText(r.baseRuns) + "   head: " + runsText(r.headRuns) +
            "   policy: " + (options.policy.empty() ? "default" : options.policy));
  page.blank();
  if (!r.checks.empty()) table(page, r);
  page.blank();
  advice(page, r);
  for (const NewFinding& f : r.newFindings)
    page.field("", 0,
               "New in every run of the head: " + suspectText(f.suspect) + ", " +
                   percentText(f.suspect.share) + " of the window.");
  if (r.outcome == Outcome::kRegressed && r.suspect && r.newFindings.empty())
    page.field("", 0, "Start at " + suspectText(*r.suspect) + ": " + r.suspect->title);
  for (const std::string& n : r.notes) page.field("", 0, n);
  page.blank();
  const std::string word = wordOf(r);
  page.field(word, columnsOf(word) + 2, r.headline + ".",
             r.outcome == Outcome::kPass ? Tone::kGood : Tone::kBad);
  return page.text();
}

}  // namespace stallprof
