// SPDX-License-Identifier: MIT
#include "launch/process/children.h"

#include <sstream>

#include "base/fd.h"

namespace stallprof {

std::vector<pid_t> childProcesses() {
  std::vector<pid_t> pids;
  const auto text = readFile("/proc/thread-self/children", 1u << 20);
  if (!text.ok()) return pids;
  std::istringstream words(text.value());
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

}  // namespace stallprof
