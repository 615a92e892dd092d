// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <bitset>
#include <optional>
#include <string_view>

namespace stallprof {

// A set of CPUs by their numbers. 8,192 is the most that Linux is built for.
inline constexpr std::size_t kMaxCpus = 8192;
using CpuMask = std::bitset<kMaxCpus>;

// "0-3,8-11" as the kernel lists CPUs; numbers beyond the mask are left out.
[[nodiscard]] CpuMask parseCpuList(std::string_view list);

// The Cpus_allowed_list of a status file's text; empty where there is none.
[[nodiscard]] CpuMask allowedInStatus(std::string_view status);

// One more than the highest number of a CPU that events may be opened on: numbers may have holes,
// and a container may be shown fewer CPUs than the numbers of its own go to.
[[nodiscard]] int cpuNumbers();

// The CPUs that a live thread may run on; null: it is gone.
[[nodiscard]] std::optional<CpuMask> affinityOf(pid_t thread);

}  // namespace stallprof
