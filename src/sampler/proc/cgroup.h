// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/sampler.h"

namespace stallprof {

// The place of a process in the control groups: one directory a controller, with all its parents up
// to the mount, nearest first. Empty where the controller is not there.
struct CgroupPaths {
  int version = 0;  // 2 when cpu or memory is managed by v2
  std::vector<std::string> cpu, memory;
  bool cpuIsV2 = false, memoryIsV2 = false;
};

// From /proc/PID/cgroup and the mounts in /proc/PID/mountinfo (v1, v2, and both at once). A
// container sees its own group as the root of the mount; paths that lie outside it are cut to the
// mount.
[[nodiscard]] CgroupPaths findCgroups(const std::string& root, pid_t pid);

// The group's figures now, from `files`, which keeps them open for the next time; the quota and the
// memory limit are the tightest along the path.
[[nodiscard]] CgroupUsage readCgroups(const CgroupPaths& paths, KeptFiles& files);

// CPUs the process may use: its affinity, cut by the quota (2.5 means two and a half). Affinity of
// a fixture is the Cpus_allowed_list of its status file.
[[nodiscard]] double usableCores(const std::string& root, pid_t pid);

}  // namespace stallprof
