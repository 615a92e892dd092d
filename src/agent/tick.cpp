// SPDX-License-Identifier: MIT
#include "agent/tick.h"

#include "agent/agent.h"
#include "agent/system.h"
#include "agent/tracing.h"

namespace stallprof::agent {
namespace {

constexpr std::uint32_t kForced = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr std::uint32_t kAll = STALLPROF_ON_COPIES | STALLPROF_ON_KERNELS | STALLPROF_ON_CALLS;

std::uint64_t cpuSaid;

void sayOwnCpu() {
  const std::uint64_t now = threadCpuNs();
  sayCpu(now - cpuSaid);
  cpuSaid = now;
}

bool recorderClosed() {
  return std::atomic_ref<std::uint32_t>(agent.memory.header->closed).load() != 0;
}

}  // namespace

void sayCpu(std::uint64_t ns) {
  std::atomic_ref<std::uint64_t>(agent.memory.area->agent_cpu).fetch_add(ns);
}

void tick() {
  if (!agent.attached) return;
  flush(0);
  if (recorderClosed()) switchTo(0);
  sayOwnCpu();
}

void release() {
  if (!agent.attached) return;
  flush(0);
  detach();
  sayWhy(STALLPROF_AGENT_YIELDED, 0, "released for another profiler of the program");
}

void retake() {
  if (!agent.attached) attach(kAll);
}

void finish() {
  if (!agent.attached) return;
  switchTo(0);
  flush(kForced);
  sayOwnCpu();
}

}  // namespace stallprof::agent
