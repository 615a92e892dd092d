// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analysis/analyze.h"
#include "base/result.h"
#include "classify/rule_table.h"
#include "trace/coarsener.h"

namespace stallprof {

// The phase rules of `file` with the built-in ones after them; the Error names file and line. ""
// is the built-in ones alone.
[[nodiscard]] Result<RuleTable> readRules(const std::string& file);

// A recording and the whole answer from it, advice written out. The Error's message names the path.
struct Reading {
  Trace trace;
  Analyzed analyzed;
};
[[nodiscard]] Result<Reading> readRecording(const std::string& path,
                                            const RuleTable& rules = RuleTable::builtIn(),
                                            const std::vector<Untrusted>& maps = {},
                                            const TraceBounds& bounds = {});

inline constexpr char kMapHelp[] =
    "NAME=PHASE, repeatable: NVTX ranges of that name (NAME* matches a prefix) are extract, "
    "transform, load, compute, sync, comm, periodic, other; or step; or none";
// The words of --map; the Error says which is none.
[[nodiscard]] Result<std::vector<Untrusted>> readMaps(const std::vector<std::string>& words);

// The host has not been started again since that run.
[[nodiscard]] bool ofThisBoot(const Manifest& manifest);

// The report of a run in JSON: of a recording made now, of a file as it stands.
[[nodiscard]] Result<std::string> readReport(const std::string& path);

}  // namespace stallprof
