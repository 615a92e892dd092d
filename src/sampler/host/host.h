// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <unordered_map>

#include "sampler/host/allowed_cpus.h"
#include "sampler/host/sibling_recorders.h"
#include "sampler/proc/numa_nodes.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// The machine, once a second: HostUsage (CPU, memory, pressure, /dev/shm), DiskUsage of whole disks
// with traffic, NetworkUsage of interfaces with traffic. All of the host, and of it the CPUs that
// the job may use; not of the job alone.
class HostSampler : public Sampler {
 public:
  // `tree` gives the job's CPU and threads; null: not known. It must outlive the sampler.
  HostSampler(std::string root, const ProcessTree* tree);
  // Reports what these know of other recorders; they must outlive the sampler.
  void follow(const SiblingRecorders& siblings) { siblings_ = &siblings; }
  [[nodiscard]] const AllowedCpus& allowedCpus() const { return allowed_; }

  [[nodiscard]] Nanos period() const override { return std::chrono::seconds(1); }
  void sample(Nanos now, EventOut& out) override;

 private:
  [[nodiscard]] HostUsage readHost();
  void readSharedMemory(HostUsage& usage);
  void readDisks(Nanos now, EventOut& out);
  void readNetwork(Nanos now, EventOut& out);
  [[nodiscard]] bool wholeDisk(const std::string& device);
  [[nodiscard]] bool carriedByOthers(std::string_view interface);
  void reportSources(Nanos now, EventOut& out) const;

  std::string root_;
  const ProcessTree* tree_;
  AllowedCpus allowed_;
  NumaNodes nodes_;
  KeptFiles files_;
  const SiblingRecorders* siblings_ = nullptr;
  std::unordered_map<std::string, bool> whole_, carried_;
  bool reported_ = false;
  bool otherShm_ = false;  // the job's /dev/shm is not the recorder's
};

}  // namespace stallprof
