// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallprof {

// A set of CPUs by their numbers. 8,192 is the most that Linux is built for.
inline constexpr std::size_t kMaxCpus = 8192;
using CpuMask = std::bitset<kMaxCpus>;

// "0-3,8-11" as the kernel lists CPUs; numbers beyond the mask are left out.
[[nodiscard]] CpuMask parseCpuList(std::string_view list);

// The Cpus_allowed_list of a status file's text; empty where there is none.
[[nodiscard]] CpuMask allowedInStatus(std::string_view status);

// The CPUs that run, by `root`'s list of them; where there is none, as many as there are said to
// be. Not those that there is only room for: a virtual machine may have room for hundreds.
[[nodiscard]] CpuMask onlineCpus(const std::string& root = "/");

// The CPUs to open events of `thread` on: those that run, and those that it may run on. A container
// may be shown fewer CPUs than the numbers of its own go to.
[[nodiscard]] std::vector<int> eventCpus(pid_t thread);
[[nodiscard]] std::vector<int> eventCpus(const CpuMask& online, const CpuMask& allowed);

// The CPUs that a live thread may run on; null: it is gone.
[[nodiscard]] std::optional<CpuMask> affinityOf(pid_t thread);

}  // namespace stallprof
