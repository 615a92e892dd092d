// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace stallprof {

// The words after the verb, split at the first bare `--` (CLI11 2.1 cannot hold a prefix command,
// nor two open-ended lists).
struct Words {
  std::vector<std::string> before, after;
  bool dashes = false;  // there was a bare `--`
};

// One function a verb, in the file of its name. The value is the exit status. Usage errors are one
// line on stderr and 2 (125 for `run`).
int verbRun(const Words& words);
int verbAttach(const Words& words);
int verbReport(const Words& words);
int verbDoctor(const Words& words);
int verbExplain(const Words& words);
int verbCompare(const Words& words);
int verbExport(const Words& words);
int verbGate(const Words& words);
int verbImport(const Words& words);
int verbTop(const Words& words);
int verbCompletion(const Words& words);
int verbManual(const Words& words);

}  // namespace stallprof
