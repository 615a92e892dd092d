// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <unordered_map>

#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// The machine, once a second: HostUsage (CPU, memory, pressure, /dev/shm), DiskUsage of whole disks
// with traffic, NetworkUsage of interfaces with traffic. All of the host, not of the job alone.
class HostSampler : public Sampler {
 public:
  // `tree` gives the job's CPU; null: not known. It must outlive the sampler.
  HostSampler(std::string root, const ProcessTree* tree);

  [[nodiscard]] Nanos period() const override { return std::chrono::seconds(1); }
  void sample(Nanos now, EventOut& out) override;

 private:
  [[nodiscard]] HostUsage readHost() const;
  void readDisks(Nanos now, EventOut& out);
  void readNetwork(Nanos now, EventOut& out);
  [[nodiscard]] bool wholeDisk(const std::string& device);
  void reportSources(Nanos now, EventOut& out) const;

  std::string root_;
  const ProcessTree* tree_;
  std::unordered_map<std::string, bool> whole_;
  bool reported_ = false;
};

}  // namespace stallprof
