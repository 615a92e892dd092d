// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analysis/compare.h"
#include "base/result.h"

namespace stallprof {

// What a run ran on; runs on different hosts do not compare.
struct Fingerprint {
  std::string cpuModel, cores, gpus, framework;  // as texts; "" not known
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// One name of Policy::match.
[[nodiscard]] const std::string& partOf(const Fingerprint& host, std::string_view name);

// What a report names as a cause, with the user's line to start at.
struct Suspect {
  std::string id, title, file;  // file may be empty
  std::int64_t line = 0;        // 0: not known
  double share = 0;
};

// What a gate takes from a report. Texts are as the report has them: escape at the sink.
struct GateRun {
  std::string path;      // of the recording or report, as given
  std::string identity;  // when it was made, and for how long; "" not known
  RunNumbers numbers;
  Fingerprint host;
  Maybe<std::int64_t> exitCode, exitSignal;
  bool endedAsAsked = false;  // by --steps or --for: no failure
  bool cutOff = false;        // its command ended, its recording has no end
  std::string stepSource;     // what a step is of; "" not known
  // Of the loader that the steps are of; where that is not known, of all its loaders that have one
  // that is, each once, in order.
  std::vector<std::int64_t> batchSizes;
  std::vector<Suspect> suspects;   // by rank
  std::vector<std::string> files;  // where its loaders and findings are, absolute ones
  std::string foreignFile;         // of these one that belongs to the other side; "" none
};

// Whether its command failed.
[[nodiscard]] inline bool failed(const GateRun& run) {
  return !run.endedAsAsked && (run.exitSignal || run.exitCode.value_or(0) != 0);
}

// Reads a report in JSON; bounded by the text. The Error does not name `path`.
[[nodiscard]] Result<GateRun> readGateRun(const std::string& path, const std::string& json);

// A baseline: reports in a directory, and beside them an index that says which, when and where.
inline constexpr char kBaselineIndex[] = "baseline.json";
inline constexpr char kBaselineSchema[] = "stallprof.baseline/1";
struct Baseline {
  std::string savedAt;  // RFC 3339, UTC
  Fingerprint host;
  std::vector<std::string> files;  // plain names, in the directory
};
[[nodiscard]] std::string baselineIndex(const Baseline& baseline);
[[nodiscard]] Result<Baseline> readBaselineIndex(const std::string& json);

}  // namespace stallprof
