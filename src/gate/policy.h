// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/analysis.h"
#include "base/result.h"
#include "gate/metrics.h"

// What must hold for a change to pass: stallprof-gate.toml, schema stallprof.gate/1.
namespace stallprof {

inline constexpr char kGateSchema[] = "stallprof.gate/1";

enum class Level : std::uint8_t { kError, kWarn, kInfo };  // fails; is warned of; is shown
[[nodiscard]] constexpr std::string_view nameOf(Level level) {
  constexpr std::string_view kNames[] = {"error", "warn", "info"};
  return kNames[static_cast<std::size_t>(level)];
}

// One thing asked of one metric. A [[metric]] with several makes several.
struct Check {
  enum class Kind : std::uint8_t {
    kShift,   // not worse than the base by `floor` or more
    kBudget,  // the head's median within `bound`; needs no base
    kExact,   // the same in every run, but for `tolerance`
  };
  std::string path;
  Kind kind = Kind::kShift;
  Worse worse = Worse::kHigher;
  Level level = Level::kError;
  double floor = 0.03;             // 3 %, or 3 points of a share
  Maybe<double> singleRun = {};    // the change that decides where a side has too few runs, >= 0.10
  double minAbsolute = 0;          // smaller changes, in the metric's unit, do not count
  double bound = 0;                // kBudget
  bool isMax = true;               // kBudget: else at least
  double tolerance = 0;            // kExact, of the base's value
  Maybe<std::string> waiver = {};  // why a failure does not fail
  std::uint32_t line = 0;          // in the policy file; 0 without one
};

struct FindingRule {
  std::string id;  // "transform.slow_op", or "transform.*" for all that begin so
  Level level = Level::kError;
  std::uint32_t line = 0;
};

enum class OnInconclusive : std::uint8_t { kPass, kWarn, kFail };

struct Policy {
  std::string file;  // as given; "" for the default policy
  std::vector<Check> checks;
  std::vector<FindingRule> findings;  // new ones that matter
  double alpha = 0.02;                // one-sided: the chance of a false alarm
  bool bonferroni = true;             // over the checks that can fail
  std::size_t minRuns = 5;            // a side, for a verdict
  std::int64_t minSteps = 0;          // in the window of every run
  OnInconclusive onInconclusive = OnInconclusive::kWarn;
  std::string baseline;  // directory; relative to the policy file
  std::vector<std::string> match = {"cpu_model", "cores", "gpus", "framework"};
  bool mismatchWarns = false;         // else not comparable
  bool missingBaselineWarns = false;  // else a usage error
  std::int64_t maxAgeDays = 0;        // of the baseline; 0: any
};

// Step time decides, the share of waiting is shown.
[[nodiscard]] Policy defaultPolicy();

// The Error is one line, "file:line: what is wrong". `today` is "2026-11-21": waivers expire.
[[nodiscard]] Result<Policy> parsePolicy(std::string_view toml, const std::string& file,
                                         const std::string& today);

}  // namespace stallprof
