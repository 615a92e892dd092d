// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stallprof {

// Which node of memory (NUMA) each CPU belongs to, by /sys/devices/system/node; read once, at the
// first question. Nothing is asked about where a process's pages lie: /proc/PID/numa_maps walks its
// page tables under a lock that the process needs itself.
class NumaNodes {
 public:
  explicit NumaNodes(std::string root) : root_(std::move(root)) {}

  // -1: that CPU, or the host's nodes, are not known.
  [[nodiscard]] std::int32_t of(std::int64_t cpu);
  // Nodes that have CPUs (others are memory alone); -1: not known.
  [[nodiscard]] std::int32_t count();

 private:
  void read();

  std::string root_;
  bool read_ = false;
  std::int32_t count_ = -1;
  std::vector<std::int32_t> ofCpu_;
};

}  // namespace stallprof
