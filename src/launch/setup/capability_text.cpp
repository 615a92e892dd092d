// SPDX-License-Identifier: MIT
// What a probe means to a person: sources, tier, and the setting that would show more.
#include <cerrno>

#include "base/fd.h"
#include "launch/setup/capability.h"

namespace stallprof {
namespace {

bool memory(const Probe& p) { return p.processMemory == 0 || p.memoryFile == 0; }

SourceReport of(std::string name, int error, const std::string& what) {
  const bool there = error == 0;
  return {std::move(name), there ? Coverage::kFull : Coverage::kAbsent,
          there ? what : what + " refused: " + errnoText(error)};
}

SourceReport memorySource(const Probe& p) {
  if (p.processMemory == 0) return {"stack_memory", Coverage::kFull, "process_vm_readv"};
  if (p.memoryFile == 0)
    return {"stack_memory", Coverage::kFull,
            "/proc/PID/mem (process_vm_readv refused: " + errnoText(p.processMemory) + ")"};
  return {"stack_memory", Coverage::kAbsent,
          "process_vm_readv and /proc/PID/mem refused: " + errnoText(p.memoryFile)};
}

SourceReport perfKernel(const Probe& p) {
  if (p.kernelSamples == 0 && p.systemWide == 0)
    return {"perf_kernel", Coverage::kFull, "kernel side and all CPUs"};
  if (p.kernelSamples == 0)
    return {"perf_kernel", Coverage::kPartial, "kernel side of own processes only"};
  return {"perf_kernel", Coverage::kAbsent, "kernel side refused: " + errnoText(p.kernelSamples)};
}

std::string perfSetting(const Probe& p) {
  // Mainline allows own processes up to 2; Debian and Ubuntu add levels above that deny all.
  if (p.perfParanoid > 2)
    return "sysctl kernel.perf_event_paranoid=2 on the host, or CAP_SYS_ADMIN (in a container "
           "--cap-add=SYS_ADMIN; at this level CAP_PERFMON is not enough on most kernels): every "
           "process birth and death, and native samples";
  return "allow perf_event_open in the container's seccomp filter (docker: --cap-add=PERFMON): "
         "every process birth and death, and native samples";
}

std::string attachSetting(const Probe& p) {
  const char* what = memory(p) ? ": the system call a thread waits in"
                               : ": system calls and Python stacks of the job";
  if (p.yamaScope >= 3)
    return std::string(
               "a host booted with kernel.yama.ptrace_scope below 3, for it cannot be "
               "lowered later") +
           what;
  if (p.yamaScope >= 1)
    return std::string(
               "root or CAP_SYS_PTRACE (in a container --cap-add=SYS_PTRACE), or sysctl "
               "kernel.yama.ptrace_scope=0 on the host") +
           what;
  return std::string("give the container --cap-add=SYS_PTRACE") + what;
}

}  // namespace

std::string hostTier(const Probe& p) {
  const bool tiers[] = {
      p.io == 0 && p.wchan == 0 && p.descriptors == 0,
      p.syscall == 0,
      memory(p),
      p.taskEvents == 0 && p.userSamples == 0,
      p.kernelSamples == 0 && p.systemWide == 0,
  };
  int reached = 0;
  while (reached < 5 && tiers[reached]) ++reached;
  return "T" + std::to_string(reached);
}

std::vector<SourceReport> describe(const Probe& p) {
  return {of("descriptors", p.descriptors, "the files behind descriptors"), memorySource(p),
          of("perf_user", p.userSamples, "native samples of own processes"), perfKernel(p)};
}

std::string oneSetting(const Probe& p) {
  if (p.stat == 0 && p.schedstat == ENOENT)
    return "a kernel with CONFIG_SCHED_INFO (this has no /proc/PID/schedstat): waits for a CPU";
  if (p.stat != 0 || p.schedstat != 0)
    return p.hidden ? "mount -o remount,hidepid=0 /proc: the job's processes"
                    : "mount /proc in the container: the job's processes";
  if (p.io != 0 || p.wchan != 0 || p.descriptors != 0)
    return "run stallprof as the job's own user, without setuid programs in between: waits, files "
           "and bytes";
  if (p.syscall != 0 || !memory(p)) return attachSetting(p);
  if (p.taskEvents != 0 || p.userSamples != 0) return perfSetting(p);
  if (p.tracepoints != 0)
    return !p.root ? "run as root, or with CAP_PERFMON and a readable tracefs: opens counted by "
                     "--counters"
           : p.tracepoints == ENOSYS
               ? "mount -t tracefs tracefs /sys/kernel/tracing: opens counted by --counters"
               : "a kernel with CONFIG_FTRACE_SYSCALLS, and no lockdown: opens counted by "
                 "--counters";
  if (p.pressure != 0) return "boot with psi=1: how long tasks wait for CPU, memory and disks";
  if (p.kernelSamples != 0 || p.systemWide != 0)
    return "CAP_PERFMON (in a container --cap-add=PERFMON), or sysctl "
           "kernel.perf_event_paranoid=0 on the host: the kernel's side of native samples";
  return {};
}

}  // namespace stallprof
