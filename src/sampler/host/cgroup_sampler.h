// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <unordered_map>

#include "sampler/proc/cgroup.h"
#include "sampler/processes/process_tree.h"

namespace stallprof {

// CgroupUsage of the group that limits the job most, once a second. A process may be moved to
// another group at any time (a job that confines itself, systemd-run inside it): of each of the
// job's processes the group is asked for again, a few of them a second.
class CgroupSampler : public Sampler {
 public:
  // `pid` is the command; `tree` the job's processes, null: the command alone. It must outlive
  // this.
  CgroupSampler(std::string root, pid_t pid, const ProcessTree* tree)
      : root_(std::move(root)), pid_(pid), tree_(tree), files_(keptFdLimit(0.03)) {}

  [[nodiscard]] Nanos period() const override { return std::chrono::seconds(1); }
  void sample(Nanos now, EventOut& out) override;
  void finish(Nanos now, EventOut& out) override;

 private:
  struct Group {
    CgroupPaths paths;
    bool used = false;
  };
  [[nodiscard]] std::string groupOf(pid_t pid);  // key of groups_; "" where it is gone
  void findGroups();
  void measure(Nanos now, EventOut& out);
  void reportSource(Nanos now, EventOut& out) const;

  [[nodiscard]] static CgroupUsage none();  // all sums 0

  std::string root_;
  pid_t pid_;
  const ProcessTree* tree_;
  KeptFiles files_;
  std::unordered_map<std::string, Group> groups_;        // by the text of /proc/PID/cgroup
  std::unordered_map<std::uint32_t, std::string> seen_;  // pid to group
  std::size_t next_ = 0;                                 // process to be asked next
  bool reported_ = false;
  std::string current_;               // the group of the last row
  CgroupUsage last_, base_ = none();  // base_: added, so that no sum falls where the group changes
};

}  // namespace stallprof
