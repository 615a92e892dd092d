// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stallprof {

// SCRIPT.YYYYmmdd-HHMMSS.pPID[.rRANK].stallprof: says what ran, never overwrites, one a rank.
// SCRIPT is the stem of the first word that ends in .py, the module after `-m`, else the command.
[[nodiscard]] std::string recordingName(const std::vector<std::string>& command,
                                        Nanos startedRealtime, int pid, std::string_view rank);

// The same of the user's own `pattern`: %s script, %t time, %p process, %h host, %r rank (0 where
// there is none), %q{VAR} a variable of the environment, %% a percent sign. What is put in is made
// plain, so that only the pattern itself names directories. ".stallprof" is added where it lacks.
[[nodiscard]] std::string recordingNameBy(const std::string& pattern,
                                          const std::vector<std::string>& command,
                                          Nanos startedRealtime, int pid,
                                          const std::vector<std::string>& environment);
// What is wrong with a pattern; "" is none, and right.
[[nodiscard]] Status checkNamePattern(const std::string& pattern);

// The rank that what launches many ranks gave this process: torchrun, Slurm or an MPI; or empty.
[[nodiscard]] std::string rankOf(const std::vector<std::string>& environment);

}  // namespace stallprof
