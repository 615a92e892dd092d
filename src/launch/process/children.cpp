// SPDX-License-Identifier: MIT
#include "launch/process/children.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/proc_numbers.h"

namespace stallprof {
namespace {

bool readsPipe(pid_t pid) {
  char target[8] = {};
  const std::string link = "/proc/" + std::to_string(pid) + "/fd/0";
  return ::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
         std::string_view(target).starts_with("pipe:");
}

}  // namespace

std::vector<pid_t> childProcesses() {
  std::vector<pid_t> pids;
  if (!procHasOurNumbers()) return pids;
  const auto text = readFile("/proc/thread-self/children", 1u << 20);
  if (!text.ok()) return pids;
  std::istringstream words(text.value());
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

bool isStopped(pid_t pid) {
  if (!procHasOurNumbers()) return true;
  const std::string state = statusOf(pid, "State");
  return state.empty() || std::string_view("TtZ").find(state[0]) != std::string_view::npos;
}

void terminateOnce(const std::vector<pid_t>& pids, std::vector<pid_t>& sent) {
  const bool readersAlone = std::all_of(pids.begin(), pids.end(), readsPipe);
  for (const pid_t pid : pids) {
    if (std::find(sent.begin(), sent.end(), pid) != sent.end()) continue;
    if (!readersAlone && readsPipe(pid)) continue;
    ::kill(pid, SIGTERM);
    sent.push_back(pid);
  }
}

}  // namespace stallprof
