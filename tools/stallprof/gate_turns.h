// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace stallprof {

// Two commands to be run by turns, each under `stallprof run` in a process of its own.
struct TurnsPlan {
  std::size_t maximum = 0;              // runs a side that there may be: for the lines on stderr
  bool fewerMayDo = false;              // not all of them need be made
  std::vector<std::string> base, head;  // at least one word each
  std::string baseDirectory;            // where the base runs; "": here
  std::string keep;  // a new directory for what is made; "": named after the time
};

// The recordings, in order. Fewer than planned where a command failed: the last one made is its.
struct GateTurns {
  std::vector<std::string> base, head, notes;
  std::map<std::string, int> statuses;  // of each recording's run, as waitpid() gives it
  std::string place;                    // the directory, absolute; "": not made yet
  bool ended = false;                   // a command failed: no more runs
};

// Runs base head head base base head ... until there are `runs` a side: whatever drifts on the host
// falls on both sides. Called again with more it goes on where it was. What the commands print goes
// to a file beside each recording; one line a run to stderr. Blocks until the last has ended;
// whatever kills this process ends the running command; INT and QUIT wait for its end. The Error
// (kUsage) is for what could not be run at all.
[[nodiscard]] Status runByTurns(const TurnsPlan& plan, std::size_t runs, GateTurns& turns);

}  // namespace stallprof
