// SPDX-License-Identifier: MIT
#include "sampler/proc/syscall_count.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr char kEvent[] = "events/syscalls/sys_enter_openat/id";

std::int64_t tracepoint(const std::string& root) {
  for (const char* mount : {"sys/kernel/tracing/", "sys/kernel/debug/tracing/"}) {
    const auto id = parseNumber(contentOf(under(root, std::string(mount) + kEvent), 64));
    if (id && *id > 0) return *id;
  }
  return -1;
}

}  // namespace

bool SyscallCounter::open(pid_t command) {
  const std::int64_t id = tracepoint(root_);
  if (id < 0) {
    why_ =
        "not counted: tracefs is not mounted or not readable ('mount -t tracefs tracefs "
        "/sys/kernel/tracing' as root shows it, where the kernel has CONFIG_FTRACE_SYSCALLS)";
    return false;
  }
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = static_cast<std::uint64_t>(id);
  attr.inherit = 1;
  counter_ = Fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, command, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (counter_.valid()) return true;
  why_ = "not counted: " + errnoText(errno) +
         " (an ordinary user needs 'sysctl kernel.perf_event_paranoid=-1')";
  return false;
}

void SyscallCounter::sample(Nanos now, EventOut& out) {
  if (!std::exchange(reported_, true))
    emitSource(out, now, "opens", counter_.valid() ? Coverage::kFull : Coverage::kAbsent,
               counter_.valid() ? "" : why_);
  std::int64_t count = 0;
  if (!counter_.valid() || ::read(counter_.get(), &count, sizeof count) != sizeof count) return;
  out.emit(now, SyscallCount{out.intern("openat"), count});
}

}  // namespace stallprof
