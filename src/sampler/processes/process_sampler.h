// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <unordered_map>

#include "sampler/proc/numa_nodes.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// ProcessUsage of every process of the job, once a second, and the job's CPU book in the tree.
class ProcessSampler : public Sampler {
 public:
  ProcessSampler(std::string root, ProcessTree& tree);

  [[nodiscard]] Nanos period() const override { return std::chrono::seconds(1); }
  void sample(Nanos now, EventOut& out) override;

 private:
  struct Files {
    KeptFile stat, io, statm;
    bool present = false;
  };
  [[nodiscard]] ProcessUsage read(const LiveProcess& process, Files& files);
  void readIo(const LiveProcess& process, Files& files, ProcessUsage& usage);
  void reportSources(Nanos now, EventOut& out);
  void dropGone();

  std::string root_;
  ProcessTree& tree_;
  NumaNodes nodes_;
  FdBudget fds_;
  std::unordered_map<ProcessId, Files> files_;
  bool reported_ = false;
};

}  // namespace stallprof
