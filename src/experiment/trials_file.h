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
// All bytes are untrusted: what has a wrong type or no whole number is left out.
[[nodiscard]] Result<Trials> parseTrials(const std::string& json);
// Those of the recording at `directory`; null where none were made. An Error where they cannot be
// read, or are none of ours.
[[nodiscard]] Result<Maybe<Trials>> readTrials(const std::string& directory);

}  // namespace stallprof
