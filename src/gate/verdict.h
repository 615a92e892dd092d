// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gate/policy.h"
#include "gate/run.h"
#include "gate/statistics.h"

namespace stallprof {

enum class CheckVerdict : std::uint8_t {
  kRegressed,
  kImproved,
  kSame,
  kInconclusive,
  kOverBudget,
  kWithinBudget,
  kNotMeasured,  // level info alone: elsewhere an absent metric is an error
};
[[nodiscard]] constexpr std::string_view nameOf(CheckVerdict verdict) {
  constexpr std::string_view kNames[] = {"regressed",    "improved",    "same",
                                         "inconclusive", "over_budget", "within_budget",
                                         "not_measured"};
  return kNames[static_cast<std::size_t>(verdict)];
}
[[nodiscard]] constexpr bool failed(CheckVerdict verdict) {
  return verdict == CheckVerdict::kRegressed || verdict == CheckVerdict::kOverBudget;
}

struct CheckResult {
  Check check;
  MetricKind kind;
  Maybe<double> base, head;  // medians of the sides
  Maybe<double> change;      // head / base - 1, or points: the shift's size, else of means
  Scale scale;
  Maybe<Shift> shift;  // kShift with two runs a side or more
  CheckVerdict verdict = CheckVerdict::kNotMeasured;
  bool advisory = false;  // a side has too few runs for a verdict
  std::string why;        // one clause, ready to print; names from outside escaped

  // What a failure of this check does: a waiver takes it down to a warning.
  [[nodiscard]] Level level() const {
    return check.waiver && check.level == Level::kError ? Level::kWarn : check.level;
  }
};

struct NewFinding {
  Suspect suspect;
  Level level = Level::kInfo;
  std::uint32_t line = 0;  // of the rule in the policy
};

enum class Outcome : std::uint8_t {
  kPass,
  kRegressed,
  kInconclusive,  // and the policy says that fails
  kNotComparable,
  kWorkloadFailed,
};
[[nodiscard]] constexpr std::string_view nameOf(Outcome outcome) {
  constexpr std::string_view kNames[] = {"pass", "regressed", "inconclusive", "not_comparable",
                                         "workload_failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}
// 0 pass, 1 regression, 3 not comparable or inconclusive by policy, 4 failed (README.md).
[[nodiscard]] constexpr int exitStatus(Outcome outcome) {
  constexpr int kStatus[] = {0, 1, 3, 3, 4};
  return kStatus[static_cast<std::size_t>(outcome)];
}

struct GateResult {
  Outcome outcome = Outcome::kPass;
  std::string headline;         // one sentence, ready to print
  Level unsure = Level::kWarn;  // at most, of a check that could not decide
  std::size_t baseRuns = 0, headRuns = 0;
  std::size_t runsAsked = 0;  // a side, of a verdict: the policy's
  Fingerprint host;           // of the head
  std::vector<CheckResult> checks;
  std::vector<NewFinding> newFindings;  // in every run of the head, in none of the base
  Maybe<Suspect> suspect;               // what the head's reports name first: where to start
  std::vector<std::string> notes;       // ready to print
};

// One check alone, one-sided at `alpha`: what its numbers in the runs of each side say. Pure.
[[nodiscard]] CheckResult judgeCheck(const Check& check, const Policy& policy, double alpha,
                                     std::span<const double> base, std::span<const double> head);

// The alpha of one check of `policy`: those that can fail the gate share it, so that the chance
// that any gives a false alarm stays under it (Bonferroni; Holm's order would fail the same gates).
[[nodiscard]] double alphaOf(const Check& check, const Policy& policy);

// What makes the sides unlike, or a run unfit: another batch size, a run that failed or had not
// ended. One sentence each; runs are named by their paths. Pure.
[[nodiscard]] std::vector<std::string> notesOn(std::span<const GateRun> base,
                                               std::span<const GateRun> head);

// The whole gate. Pure. The Error (kUsage) is for what cannot be asked of these runs: a metric they
// lack, no base where one is needed.
[[nodiscard]] Result<GateResult> judgeGate(const Policy& policy, std::span<const GateRun> base,
                                           std::span<const GateRun> head);

}  // namespace stallprof
