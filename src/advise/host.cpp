// SPDX-License-Identifier: MIT
#include "advise/catalogue.h"

namespace stallprof {

std::string hostText(const AdviceContext& c) {
  const std::string& id = c.advice.id;
  const auto& change = c.advice.change;
  if (id == "raise_cpu_limit")
    return "Raise the container's CPU limit from " + change.from + " to " + change.to +
           " cores, or lower num_workers and the thread counts to fit the limit.";
  if (id == "cool_the_device")
    return "Let the device clock higher than " + change.from + " MHz (its highest is " + change.to +
           "): raise its power limit (nvidia-smi -pl) where that holds it down, look "
           "at cooling and neighbours where heat does, or move the job.";
  if (id == "quiet_host")
    return "Run again on a host of its own, or pin the job to cores that nobody else uses "
           "(taskset, cpuset), before trusting any number here.";
  if (id == "free_memory")
    return "Lower num_workers, prefetch_factor or batch size until nothing is swapped or "
           "reclaimed, or run on a host with more memory.";
  return {};
}

}  // namespace stallprof
