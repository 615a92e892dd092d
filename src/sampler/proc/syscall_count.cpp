// SPDX-License-Identifier: MIT
#include "sampler/proc/syscall_count.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sampler/proc/perf_event.h"
#include "sampler/proc/proc_file.h"
#include "sampler/proc/proc_text.h"

namespace stallprof {
namespace {

constexpr char kEvent[] = "events/syscalls/sys_enter_openat/id";

std::string whyNot(std::int64_t error) {
  switch (error) {
    case -ENOENT:
      return "this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)";
    case -ENODEV:
      return "this kernel has no tracefs (CONFIG_FTRACE)";
    case -ENOSYS:
      return "tracefs is not mounted ('mount -t tracefs tracefs /sys/kernel/tracing' as root)";
    default:
      return "tracefs: " + errnoText(static_cast<int>(-error)) + " (root may read it)";
  }
}

// A tracefs of our own. Gone with its descriptor; invalid: errno says why. The calls' numbers are
// used because glibc has names for them from 2.36 on only.
Fd detachedTracefs() {
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.valid() ||
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  return Fd(
      static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY)));
}

}  // namespace

std::int64_t openatTracepoint(const std::string& root) {
  for (const char* mount : {"sys/kernel/tracing/", "sys/kernel/debug/tracing/"}) {
    const auto id = parseNumber(contentOf(under(root, std::string(mount) + kEvent), 64));
    if (id && *id > 0) return *id;
  }
  if (!isLive(root)) return -ENOENT;
  const Fd mount = detachedTracefs();
  if (!mount.valid()) return -errno;
  const Fd file = openAt(mount.get(), kEvent, O_RDONLY);
  if (!file.valid()) return -errno;
  char buffer[64];
  return parseNumber(preadSmall(file.get(), buffer)).value_or(-ENOENT);
}

bool SyscallCounter::open(pid_t command) {
  asked_ = true;
  const std::int64_t id = openatTracepoint(root_);
  if (id < 0) {
    why_ = "not counted: " + whyNot(id);
    return false;
  }
  perf_event_attr attr{};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = static_cast<std::uint64_t>(id);
  attr.inherit = 1;
  counter_ = openPerfEvent(attr, command, -1);
  if (counter_.valid()) return true;
  why_ = "not counted: " + errnoText(errno) +
         " (an ordinary user needs 'sysctl kernel.perf_event_paranoid=-1')";
  return false;
}

void SyscallCounter::sample(Nanos now, EventOut& out) {
  if (!asked_) return;
  if (!std::exchange(reported_, true))
    emitSource(out, now, "opens", counter_.valid() ? Coverage::kFull : Coverage::kAbsent,
               counter_.valid() ? "" : why_);
  std::int64_t count = 0;
  if (!counter_.valid() || ::read(counter_.get(), &count, sizeof count) != sizeof count) return;
  out.emit(now, SyscallCount{out.intern("openat"), count});
}

}  // namespace stallprof
