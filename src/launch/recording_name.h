// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace stallprof {

// SCRIPT.YYYYmmdd-HHMMSS.pPID[.rRANK].stallprof: says what ran, never overwrites, one a rank.
// SCRIPT is the stem of the first word that ends in .py, the module after `-m`, else the command.
[[nodiscard]] std::string recordingName(const std::vector<std::string>& command,
                                        Nanos startedRealtime, int pid, std::string_view rank);

// The rank that what launches many ranks gave this process: torchrun, Slurm or Open MPI; or empty.
[[nodiscard]] std::string rankOf(const std::vector<std::string>& environment);

}  // namespace stallprof
