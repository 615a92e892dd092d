// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "sampler/nvml/nvml_thread.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// The GPUs, as NVIDIA's monitoring library sees them: DeviceSeen, DeviceUsage (five times a second,
// less often while idle) and DeviceProcess (once a second). Where no driver is, nothing is loaded
// and nothing reported. The library is loaded a moment after the command started, on a thread of
// its own; this only takes what that found.
class NvmlSampler : public Sampler {
 public:
  // `tree` names the job's processes; null: none is known. It must outlive the sampler.
  NvmlSampler(std::string root, const ProcessTree* tree);

  [[nodiscard]] Nanos period() const override;
  void sample(Nanos now, EventOut& out) override;
  void finish(Nanos now, EventOut& out) override;

 private:
  void start(Nanos now, EventOut& out);
  void take(EventOut& out);
  [[nodiscard]] std::int32_t nodeOf(const NvmlSeen& seen) const;
  void reportHang(Nanos now, EventOut& out);
  void reportProcesses(const NvmlFindings::Processes& found, EventOut& out);
  [[nodiscard]] ProcessId processOf(std::uint32_t pid);
  [[nodiscard]] bool usesDevice(std::uint32_t pid) const;

  std::string root_;
  const ProcessTree* tree_;
  bool ownPids_;  // the driver may name pids of another pid namespace
  std::optional<NvmlThread> thread_;
  std::vector<StringId> devices_;
  std::unordered_set<ProcessId> matched_;
  std::vector<NvmlFindings::State> states_;  // the last of each source
  Nanos startAt_{-1};
  bool refused_ = false, hangs_ = false;
};

// Where to search for the library; empty where no NVIDIA driver is.
[[nodiscard]] std::vector<std::string> nvmlLibraries(const std::string& root);

// For doctor: what the sampler would say, found by one reading that is waited for at most `limit`.
[[nodiscard]] std::vector<SourceReport> nvmlSources(const std::string& root, Nanos limit);

}  // namespace stallprof
