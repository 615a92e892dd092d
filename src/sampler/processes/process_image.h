// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sampler/proc/proc_text.h"
#include "sampler/processes/live_processes.h"

// What a process is and runs, as /proc says it. `root` is "/" or a fixture.
namespace stallprof {

// Nothing when there is no such process, or the file is another's.
[[nodiscard]] std::optional<ProcStat> statOf(const std::string& root, std::uint32_t pid);
// The same with the counters of its first thread alone: the kernel sums those of a process up for
// each reader, a millisecond for 5,000 threads.
[[nodiscard]] std::optional<ProcStat> quickStatOf(const std::string& root, std::uint32_t pid);

// The start of the process on the live host, to half a tick.
[[nodiscard]] Nanos startOf(std::uint64_t startTicks);
// Whether who has the number now, since that tick, is still this process. One whose start was not
// read before it ended was born when its fork was reported; its successor starts a tick later.
[[nodiscard]] bool isLifeOf(const std::string& root, const LiveProcess& process,
                            std::uint64_t startTicks);

// The path of the program; empty when it is hidden or the process is gone.
[[nodiscard]] std::string programOf(const std::string& root, std::uint32_t pid);

// Its argv as shell words, secrets masked, cut at 4 KiB.
[[nodiscard]] std::string commandOf(const std::string& root, std::uint32_t pid);

[[nodiscard]] std::string threadNameOf(const std::string& root, std::uint32_t pid,
                                       std::uint32_t tid);

}  // namespace stallprof
