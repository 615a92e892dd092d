// SPDX-License-Identifier: MIT
#include "agent/cupti/callers.h"

#include <string.h>

#include "agent/cupti/agent.h"
#include "agent/process/system.h"

namespace stallprof::agent {
namespace {

std::atomic<std::uint32_t> callers[16];
std::atomic<bool> beyond;  // than there is room for

bool restsInUpdates(const char* name) {
  for (const char* begin : {"pt_autograd", "pt_data_pin", "stallprof"})
    if (strncmp(name, begin, strlen(begin)) == 0) return true;
  return false;
}

}  // namespace

void noteCaller(std::uint32_t thread) {
  for (std::atomic<std::uint32_t>& known : callers) {
    std::uint32_t at = known.load(std::memory_order_relaxed);
    if (at == 0 && known.compare_exchange_strong(at, thread)) return;
    if (at == thread) return;
  }
  beyond = true;
}

void forgetCallers() {
  for (std::atomic<std::uint32_t>& known : callers) known = 0;
  beyond = false;
}

bool othersCall(std::uint32_t thread) {
  if (beyond || agent.cupti.setThreadIdType == nullptr || (agent.wanted & STALLPROF_ON_CALLS) == 0)
    return true;
  for (const std::atomic<std::uint32_t>& known : callers) {
    const std::uint32_t caller = known.load();
    char name[16];
    if (caller != 0 && caller != thread && threadName(caller, name) && !restsInUpdates(name))
      return true;
  }
  return false;
}

}  // namespace stallprof::agent
