// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace stallprof {

// A recording that is being written on this host, as far as /proc lets us see.
struct Running {
  std::string directory;
  pid_t recorder = 0;
};
[[nodiscard]] std::vector<Running> runningRecordings();

// One of them is this.
[[nodiscard]] bool stillRuns(const std::string& recording);

// The one of them that records process `pid`, or whose front or recorder that is; else the one that
// recorded it, as its environment says; "" where none is.
[[nodiscard]] std::string recordingOfProcess(pid_t pid);

}  // namespace stallprof
