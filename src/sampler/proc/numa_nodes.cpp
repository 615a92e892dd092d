// SPDX-License-Identifier: MIT
#include "sampler/proc/numa_nodes.h"

#include <utility>

#include "sampler/proc/cpu_mask.h"
#include "sampler/proc/proc_file.h"

namespace stallprof {

void NumaNodes::read() {
  if (std::exchange(read_, true)) return;
  const std::string folder = under(root_, "sys/devices/system/node");
  // The list is of any numbers, as that of CPUs: "0-1,4". Some nodes may be off.
  const CpuMask nodes = parseCpuList(contentOf(folder + "/online", 4096));
  for (std::size_t node = 0; node < kMaxCpus; ++node) {
    if (!nodes[node]) continue;
    const CpuMask cpus =
        parseCpuList(contentOf(folder + "/node" + std::to_string(node) + "/cpulist", 1u << 16));
    if (cpus.none()) continue;
    count_ = count_ < 0 ? 1 : count_ + 1;
    for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (!cpus[cpu]) continue;
      if (cpu >= ofCpu_.size()) ofCpu_.resize(cpu + 1, -1);
      ofCpu_[cpu] = static_cast<std::int32_t>(node);
    }
  }
}

std::int32_t NumaNodes::of(std::int64_t cpu) {
  read();
  return cpu >= 0 && static_cast<std::size_t>(cpu) < ofCpu_.size()
             ? ofCpu_[static_cast<std::size_t>(cpu)]
             : -1;
}

std::int32_t NumaNodes::count() {
  read();
  return count_;
}

}  // namespace stallprof
