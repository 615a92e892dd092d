// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "sampler/proc/cpu_mask.h"
#include "sampler/proc/sampler.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

class AllowedCpus;

// What identifies the job among the user's: names that its launcher gave to all of its ranks
// (Slurm, torchrun, MPI), and the session its processes were started in. From the environment and
// the session of the calling process.
[[nodiscard]] std::vector<std::string> jobNames();

// Recorders of the same job on this host, where each rank has one of its own. Each binds a datagram
// socket of an abstract name (nothing is left behind by any end), and sends to the others, once a
// second, the CPU that its part of the job used and the CPUs it may run on. Messages of other users
// are not read. Recorders in another network namespace are not found. One thread.
class SiblingRecorders : public Sampler {
 public:
  // `tree` and `cpus` must outlive this. `space` keeps the names of tests apart.
  SiblingRecorders(const ProcessTree& tree, const AllowedCpus& cpus,
                   std::vector<std::string> names = jobNames(), std::string space = "");

  [[nodiscard]] Nanos period() const override { return std::chrono::milliseconds(200); }
  void sample(Nanos now, EventOut& out) override;

  // The same with the job's CPU given: what `sample` does.
  void exchange(Nanos now, Nanos cpu, const CpuMask& mask);
  // -1: not known, no socket could be had.
  [[nodiscard]] std::int64_t count() const;
  // CPU of the siblings since they were met, as far as it was on CPUs of `mask`: of a sibling that
  // may run on others too, that part of its CPUs.
  [[nodiscard]] Nanos cpu() const { return cpu_; }

 private:
  struct Message;
  struct Peer {
    Nanos cpu{}, heard{};
  };
  void open();
  void findPeers(Nanos now);
  void receive(Nanos now, const CpuMask& mask);
  void take(const Message& message, const std::string& from, Nanos now, const CpuMask& mask);
  void send(Nanos cpu, const CpuMask& mask);

  const ProcessTree* tree_;
  const AllowedCpus* cpus_;
  std::string space_, name_, names_, refused_;
  Fd socket_;
  bool opened_ = false, reported_ = false;
  std::unordered_map<std::string, Peer> peers_;  // by the socket's name; heard 0: not yet answered
  Nanos cpu_{}, nextSend_{};
};

}  // namespace stallprof
