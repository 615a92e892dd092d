// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_map>
#include <vector>

#include "trace/trace.h"

namespace stallprof {

// The kernel adds what a child read and wrote to its parent's /proc/PID/io once the parent has
// waited for it: counted with the child's own, as of a loader's workers at the end of each epoch,
// it would count twice.
class EndedChildren {
 public:
  explicit EndedChildren(const Trace& trace);

  // The process's rows, their I/O without that of children that had ended by then: of each it goes
  // where the process's own count rises by as much, if it does (who waits for no child gets none).
  [[nodiscard]] Table<ProcessUsage> ownOf(const ProcessLife& process) const;

 private:
  // Its last row, and what it is taken to have moved until its end.
  struct Ended {
    Nanos at;
    ProcessUsage last, ended;
  };
  std::unordered_map<ProcessId, std::vector<Ended>> last_;  // by parent
};

}  // namespace stallprof
