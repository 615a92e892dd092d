// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/result.h"
#include "experiment/trial.h"

namespace stallprof {

// Of a recording: what its trials recorded, and their outcome (stallprof.trials/1).
inline constexpr char kTrialsDirectory[] = "trials";
inline constexpr char kTuneDirectory[] = "tune";  // in it, of `stallprof tune`
inline constexpr char kTrialsFile[] = "trials/outcome.json";
inline constexpr char kTrialsSchema[] = "stallprof.trials/1";

[[nodiscard]] std::string trialsJson(const Trials& trials);
[[nodiscard]] Result<Trials> parseTrials(const std::string& json);

}  // namespace stallprof
