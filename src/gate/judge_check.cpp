// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/stats.h"
#include "base/units.h"
#include "gate/rank_test.h"
#include "gate/statistics.h"
#include "gate/verdict.h"

namespace stallprof {
namespace {

// Head against base on the metric's scale, in shifts: worse is above zero. Null where a factor is
// asked of what is not above zero.
Maybe<double> sizeOf(std::span<const double> base, std::span<const double> head,
                     const Scale& scale) {
  if (base.empty() || head.empty()) return {};
  const auto b = onScale(base, scale), h = onScale(head, scale);
  if (!b || !h) return {};
  return mean(*h) - mean(*b);
}

void judgeBudget(CheckResult& r) {
  const double head = r.head.value_or(0);
  const bool within = r.check.isMax ? head <= r.check.bound : head >= r.check.bound;
  r.verdict = within ? CheckVerdict::kWithinBudget : CheckVerdict::kOverBudget;
  r.why = fmt::format("budget: {} {}", r.check.isMax ? "at most" : "at least",
                      valueText(r.check.bound, std::string(r.kind.unit)));
}

// Every run of the head within the tolerance of the base's one value.
void judgeExact(CheckResult& r, std::span<const double> base, std::span<const double> head) {
  const double expected = base[0], slack = std::abs(expected) * r.check.tolerance;
  const auto off = [&](double v) { return std::abs(v - expected) > slack; };
  if (std::any_of(base.begin(), base.end(), off)) {
    r.verdict = CheckVerdict::kInconclusive;
    r.why = "not deterministic: the base's own runs differ";
    return;
  }
  const auto moved = std::find_if(head.begin(), head.end(), off);
  r.verdict = CheckVerdict::kSame;
  r.why = "exact";
  if (moved == head.end()) return;
  const bool better = r.check.worse == Worse::kNeither
                          ? false
                          : (*moved < expected) == (r.check.worse == Worse::kHigher);
  const bool all = std::all_of(head.begin(), head.end(), [&](double v) {
    return off(v) && (v < expected) == (*moved < expected);
  });
  r.verdict = better && all ? CheckVerdict::kImproved : CheckVerdict::kRegressed;
  const std::string unit(r.kind.unit);
  r.why = fmt::format("must not change: {}, not {}", valueText(*moved, unit),
                      valueText(expected, unit));
}

constexpr const char* kTooSmall = "differs by less than min_abs";

// Too few runs for statistics: advice, unless the policy names a change too large for noise.
void judgeFew(CheckResult& r, const Policy& policy, std::size_t runs, double size) {
  if (!r.check.singleRun) {
    r.verdict = CheckVerdict::kInconclusive;
    r.advisory = true;
    r.why = fmt::format("advisory: {} of the {} runs a side that a verdict takes", runs,
                        policy.minRuns);
    return;
  }
  const double limit = r.scale.shiftOf(*r.check.singleRun);
  const bool counts = std::abs(r.head.value_or(0) - r.base.value_or(0)) >= r.check.minAbsolute;
  r.verdict = size >= limit && counts    ? CheckVerdict::kRegressed
              : size <= -limit && counts ? CheckVerdict::kImproved
                                         : CheckVerdict::kSame;
  r.why =
      fmt::format("limit {} for so few runs", changeText(r.scale.shownOf(limit), r.scale.unit()));
  if (std::abs(size) >= limit && !counts) r.why += std::string("; ") + kTooSmall;
}

// Of values that have no factor, as some are zero: by their order alone, and by the least
// difference that counts.
void judgeOrder(CheckResult& r, const Policy& policy, double alpha, std::span<const double> base,
                std::span<const double> head) {
  r.verdict = CheckVerdict::kInconclusive;
  r.why = "a run has a value that is not above zero";
  const auto equal = [&](double v) { return v == base[0]; };
  if (std::all_of(base.begin(), base.end(), equal) &&
      std::all_of(head.begin(), head.end(), equal)) {
    r.verdict = CheckVerdict::kSame;
    r.why = "equal in all runs";
    return;
  }
  const double from = r.base.value_or(0), to = r.head.value_or(0);
  if (std::abs(to - from) < r.check.minAbsolute) {
    r.verdict = CheckVerdict::kSame;
    r.why = kTooSmall;
    return;
  }
  const auto test = std::min(base.size(), head.size()) < policy.minRuns
                        ? Maybe<RankTest>()
                        : rankTest(base, head, alpha);
  if (!test) return;
  const bool counts =
      from <= 0 || to <= 0 || std::abs(std::log(to / from)) >= r.scale.shiftOf(r.check.floor);
  const bool higher = test->worse < alpha, lower = test->better < alpha;
  if (!counts || (!higher && !lower)) return;
  r.verdict = higher == r.scale.higherIsWorse ? CheckVerdict::kRegressed : CheckVerdict::kImproved;
  r.why = "by the order of the runs: zero has no factor";
}

void judgeShift(CheckResult& r, double alpha) {
  const double floor = r.scale.shiftOf(r.check.floor);
  const Shift& s = *r.shift;
  const bool counts = std::abs(r.head.value_or(0) - r.base.value_or(0)) >= r.check.minAbsolute;
  r.why = "limit " + changeText(r.scale.shownOf(floor), r.scale.unit());
  if (s.worse < alpha && s.size >= floor && counts) {
    r.verdict = CheckVerdict::kRegressed;
  } else if (s.better < alpha && s.size <= -floor && counts) {
    r.verdict = CheckVerdict::kImproved;
  } else if (s.high < floor || !counts) {
    r.verdict = CheckVerdict::kSame;
    if (std::abs(s.size) >= floor) r.why += std::string("; ") + kTooSmall;
  } else {
    r.verdict = CheckVerdict::kInconclusive;
    r.why += fmt::format("; these runs can show {}",
                         changeText(r.scale.shownOf(s.detectable), r.scale.unit()));
  }
}

}  // namespace

CheckResult judgeCheck(const Check& check, const Policy& policy, double alpha,
                       std::span<const double> base, std::span<const double> head) {
  CheckResult r;
  r.check = check;
  r.kind = *findMetric(check.path);
  r.scale = {r.kind.inPoints(), check.worse != Worse::kLower};
  if (!base.empty()) r.base = median({base.begin(), base.end()});
  if (!head.empty()) r.head = median({head.begin(), head.end()});
  Maybe<double> size = sizeOf(base, head, r.scale);
  // One estimator for all checks of a metric: a budget's change is its shift's.
  const Maybe<Shift> shift =
      size ? measureShift(base, head, r.scale, alpha, r.scale.shiftOf(check.floor)) : std::nullopt;
  if (shift) size = shift->size;
  if (size) r.change = r.scale.shownOf(*size);
  if (head.empty() || (base.empty() && check.kind != Check::Kind::kBudget)) return r;
  if (check.kind == Check::Kind::kBudget) {
    judgeBudget(r);
  } else if (check.kind == Check::Kind::kExact) {
    judgeExact(r, base, head);
  } else if (!size) {
    judgeOrder(r, policy, alpha, base, head);
  } else {
    r.shift = shift;
    const std::size_t runs = std::min(base.size(), head.size());
    if (runs < policy.minRuns)
      judgeFew(r, policy, runs, *size);
    else if (r.shift)
      judgeShift(r, alpha);
  }
  return r;
}

}  // namespace stallprof
