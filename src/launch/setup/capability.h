// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sampler/proc/sampler.h"

namespace stallprof {

// What this host permits, found by trying each on a process, never by reading settings alone: a
// seccomp filter or a container answers differently than the sysctl says. Each is the errno of the
// try, 0 where it worked.
struct Probe {
  int schedstat = 0, stat = 0;             // tier T0
  int io = 0, wchan = 0, descriptors = 0;  // T1: ptrace READ access
  int syscall = 0;                         // T2: ptrace ATTACH access
  int processMemory = 0, memoryFile = 0;   // T3: process_vm_readv; /proc/PID/mem
  int taskEvents = 0, userSamples = 0;     // T4: perf events on own processes
  int kernelSamples = 0, systemWide = 0;   // T5: perf on the kernel's side, on all CPUs
  int tracepoints = 0;                     // counting system calls
  int pressure = 0;                        // /proc/pressure
  int perfParanoid = -2, yamaScope = -1;   // as the host says; -2 and -1: not there
  bool hidden = false;                     // /proc is mounted with hidepid
  bool root = false;
};

// Tries all but `tracepoints` on `pid`, a process of ours that is not our child's ancestor nor
// descendant, as the command is none of the recorder's.
[[nodiscard]] Probe probeHost(pid_t pid);

// The highest tier reached with all below it: "T0" to "T5".
[[nodiscard]] std::string hostTier(const Probe& probe);
// The sources of it that no sampler reports by itself, by the names of SourceState events.
[[nodiscard]] std::vector<SourceReport> describe(const Probe& probe);
// The one setting that would show most of what is missing; empty when nothing is.
[[nodiscard]] std::string oneSetting(const Probe& probe);

// What a run would meet here, for doctor: found on a process of ours that a third one reads.
struct HostView {
  Probe probe;
  std::vector<SourceReport> sources;  // the samplers', describe(), then gpuSources()
};
[[nodiscard]] HostView probeFromOutside();

// The GPU's counters ("nvml", "gpm") and the agent that CUDA would load ("agent"), tried in a
// process of their own: a driver that hangs takes 11 s at most.
[[nodiscard]] std::vector<SourceReport> gpuSources();
// A line a source: name, tab, the state's number, tab, why. What is no such line is left out.
[[nodiscard]] std::vector<SourceReport> sourcesFrom(const std::string& answer);

}  // namespace stallprof
