// SPDX-License-Identifier: MIT
#include "sampler/proc/wait_class.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

namespace stallprof {
namespace {

struct Row {
  long number;
  CallClass call;
};

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449  // Linux 5.16
#endif
#define CALL(name, kind, ...)                                        \
  Row {                                                              \
    SYS_##name, { CallKind::kind, #name __VA_OPT__(, ) __VA_ARGS__ } \
  }
constexpr Row kCalls[] = {
    CALL(read, kFdRead),
    CALL(readv, kFdRead),
    CALL(pread64, kFdRead, 0, -1, 3),
    CALL(preadv, kFdRead, 0, -1, 3),
    CALL(preadv2, kFdRead, 0, -1, 3),
    CALL(readahead, kFdRead, 0, -1, 1),
    CALL(sendfile, kFdRead, 1),
    CALL(splice, kFdRead),
    CALL(copy_file_range, kFdRead),
    CALL(recvfrom, kFdRead),
    CALL(recvmsg, kFdRead),
    CALL(recvmmsg, kFdRead),
    CALL(write, kFdWrite),
    CALL(writev, kFdWrite),
    CALL(pwrite64, kFdWrite),
    CALL(pwritev, kFdWrite),
    CALL(pwritev2, kFdWrite),
    CALL(sendto, kFdWrite),
    CALL(sendmsg, kFdWrite),
    CALL(sendmmsg, kFdWrite),
    CALL(ioctl, kFdAny),
    CALL(accept, kSocket),
    CALL(accept4, kSocket),
    CALL(connect, kSocket),
    CALL(openat, kFileMeta, 0, -1, -1, 2),
    CALL(openat2, kFileMeta),
    CALL(close, kFileMeta),
    CALL(newfstatat, kFileMeta),
    CALL(fstat, kFileMeta),
    CALL(statx, kFileMeta),
    CALL(statfs, kFileMeta),
    CALL(getdents64, kFileMeta),
    CALL(faccessat, kFileMeta),
    CALL(readlinkat, kFileMeta),
    CALL(unlinkat, kFileSync),
    CALL(mkdirat, kFileMeta),
    CALL(lseek, kFileMeta),
    CALL(flock, kFutex),
    CALL(fcntl, kFutex),  // it blocks for the lock of a record alone
    CALL(execve, kFileMeta),
    CALL(fsync, kFileSync),
    CALL(fdatasync, kFileSync),
    CALL(sync_file_range, kFileSync),
    CALL(ftruncate, kFileSync),
    CALL(fallocate, kFileSync),
    CALL(msync, kFileSync),
    CALL(sync, kFileSync),
    CALL(syncfs, kFileSync),
    CALL(io_uring_enter, kAsyncRead),
    CALL(io_getevents, kAsyncRead),
    CALL(ppoll, kPoll, 0, 1),
    CALL(pselect6, kPoll, 0, 0),
    CALL(epoll_pwait, kEpoll),
    CALL(futex, kFutex),
    CALL(futex_waitv, kFutex),
    CALL(semtimedop, kFutex),
    CALL(semop, kFutex),
    CALL(nanosleep, kSleep),
    CALL(clock_nanosleep, kSleep),
    CALL(wait4, kChild),
    CALL(waitid, kChild),
    CALL(mmap, kMemory),
    CALL(munmap, kMemory),
    CALL(mremap, kMemory),
    CALL(mprotect, kMemory),
    CALL(madvise, kMemory),
    CALL(brk, kMemory),
    CALL(mlock, kMemory),
    CALL(sched_yield, kYield),
    // Of no wait; named where they take CPU: clock_gettime on a host whose clock the kernel reads.
    CALL(clock_gettime, kOther),
    CALL(clock_getres, kOther),
    CALL(gettimeofday, kOther),
    CALL(getpid, kOther),
    CALL(getppid, kOther),
    CALL(gettid, kOther),
    CALL(getuid, kOther),
    CALL(getrusage, kOther),
    CALL(times, kOther),
    CALL(sysinfo, kOther),
    CALL(uname, kOther),
    CALL(getcwd, kOther),
    CALL(dup, kOther),
    CALL(dup3, kOther),
    CALL(pipe2, kOther),
    CALL(socket, kOther),
    CALL(exit, kOther),
    CALL(kill, kOther),
    CALL(tgkill, kOther),
    CALL(rt_sigaction, kOther),
    CALL(rt_sigprocmask, kOther),
    CALL(rt_sigreturn, kOther),
    CALL(sched_getaffinity, kOther),
    CALL(sched_setaffinity, kOther),
    CALL(getcpu, kOther),
    CALL(prctl, kOther),
    CALL(getrandom, kOther),
    CALL(membarrier, kOther),
    CALL(process_vm_readv, kOther),
    CALL(eventfd2, kOther),
    CALL(timerfd_settime, kOther),
    CALL(epoll_ctl, kOther),
    CALL(epoll_create1, kOther),
    CALL(memfd_create, kOther),
    CALL(shutdown, kOther),
    CALL(setsockopt, kOther),
    CALL(getsockopt, kOther),
    CALL(getsockname, kOther),
    CALL(mincore, kOther),
    CALL(mbind, kOther),
    CALL(set_mempolicy, kOther),
    CALL(munlock, kOther),
    CALL(pidfd_open, kOther),
    CALL(prlimit64, kOther),
    CALL(exit_group, kOther),
    CALL(rt_sigsuspend, kOther),
    CALL(rt_sigtimedwait, kOther),
    CALL(faccessat2, kFileMeta),
    CALL(epoll_pwait2, kEpoll),
    CALL(renameat2, kFileSync),
    CALL(clone, kMemory),
    CALL(clone3, kMemory),
    CALL(open, kFileMeta, 0, -1, -1, 1),
    CALL(stat, kFileMeta),
    CALL(lstat, kFileMeta),
    CALL(access, kFileMeta),
    CALL(readlink, kFileMeta),
    CALL(unlink, kFileSync),
    CALL(mkdir, kFileMeta),
    CALL(rename, kFileSync),
    CALL(getdents, kFileMeta),
    CALL(poll, kPoll, 0, 1),
    CALL(select, kPoll, 0, 0),
    CALL(epoll_wait, kEpoll),
    CALL(pause, kOther),
    CALL(vfork, kChild),
};
#undef CALL

constexpr std::size_t kNumbers = 512;  // the highest number of 2026 is below 480

constexpr auto makeTable() {
  std::array<CallClass, kNumbers> table{};
  for (const Row& row : kCalls)
    if (row.number >= 0 && static_cast<std::size_t>(row.number) < kNumbers)
      table[static_cast<std::size_t>(row.number)] = row.call;
  return table;
}
constexpr std::array<CallClass, kNumbers> kTable = makeTable();

struct Channel {
  std::string_view prefix;
  Wait wait;
};
// Research: names seen on 4.18 to 6.18. Longer prefixes first where one begins another.
constexpr Channel kChannels[] = {
    {"futex_", Wait::kFutex},
    {"do_futex", Wait::kFutex},
    {"locks_lock_", Wait::kFutex},
    {"fcntl_setlk", Wait::kFutex},
    {"do_lock_file_wait", Wait::kFutex},
    {"ep_poll", Wait::kPoll},
    {"do_epoll_wait", Wait::kPoll},
    {"do_poll", Wait::kPoll},
    {"do_sys_poll", Wait::kPoll},
    {"do_select", Wait::kPoll},
    {"poll_schedule_timeout", Wait::kPoll},
    {"pipe_", Wait::kPipe},
    {"anon_pipe_", Wait::kPipe},
    {"wait_for_partner", Wait::kPipe},
    {"eventfd_", Wait::kPipe},
    {"unix_", Wait::kPipe},
    {"__skb_wait_for_more_packets", Wait::kPipe},  // datagrams: unix and inet alike
    {"sk_wait_data", Wait::kSocket},
    {"sk_stream_wait", Wait::kSocket},
    {"wait_woken", Wait::kSocket},
    {"inet_", Wait::kSocket},
    {"tcp_", Wait::kSocket},
    {"udp_", Wait::kSocket},
    {"hrtimer_nanosleep", Wait::kSleep},
    {"do_nanosleep", Wait::kSleep},
    {"common_nsleep", Wait::kSleep},
    {"schedule_hrtimeout", Wait::kSleep},
    {"do_wait", Wait::kChild},
    {"kernel_wait", Wait::kChild},
    {"filemap_fault", Wait::kPageFault},
    {"__lock_page_or_retry", Wait::kPageFault},
    {"__folio_lock_or_retry", Wait::kPageFault},
    {"do_swap_page", Wait::kPageFault},
    {"folio_wait_bit", Wait::kFileRead},
    {"wait_on_page_bit", Wait::kFileRead},
    {"__wait_on_buffer", Wait::kFileRead},
    {"io_schedule", Wait::kFileRead},
    {"blkdev_", Wait::kFileRead},
    {"blk_", Wait::kFileRead},
    {"iomap_", Wait::kFileRead},
    {"__iomap_dio", Wait::kFileRead},
    {"read_events", Wait::kFileRead},
    {"io_cqring_wait", Wait::kFileRead},
    {"nfs_", Wait::kFileRead},
    {"nfs4_", Wait::kFileRead},
    {"rpc_", Wait::kFileRead},
    {"request_wait_answer", Wait::kFileRead},  // FUSE
    {"fuse_", Wait::kFileRead},
    {"p9_", Wait::kFileRead},
    {"ceph_", Wait::kFileRead},
    {"cifs_", Wait::kFileRead},
    {"lustre_", Wait::kFileRead},
    {"ll_", Wait::kFileRead},
    {"jbd2_log_wait_commit", Wait::kFileWrite},
    {"file_write_and_wait", Wait::kFileWrite},
    {"folio_wait_writeback", Wait::kFileWrite},
    {"wait_on_page_writeback", Wait::kFileWrite},
    {"balance_dirty_pages", Wait::kFileWrite},
    {"xfs_log_force", Wait::kFileWrite},
    {"rwsem_down_", Wait::kMemory},
    {"do_signal_stop", Wait::kStopped},
    {"ptrace_stop", Wait::kStopped},
    {"get_signal", Wait::kStopped},
    {"nvme_", Wait::kFileRead},
    {"nv", Wait::kDevice},
    {"os_acquire", Wait::kDevice},
    {"uvm_", Wait::kDevice},
    {"amdgpu_", Wait::kDevice},
};

bool accelerator(std::string_view path) {
  return path.starts_with("/dev/nvidia") || path.starts_with("/dev/kfd") ||
         path.starts_with("/dev/dri/") || path.starts_with("/dev/infiniband/") ||
         path.starts_with("/dev/accel");
}

Wait readFrom(FdKind fd) {
  switch (fd) {
    case FdKind::kFile:
      return Wait::kFileRead;
    case FdKind::kSharedMemory:
    case FdKind::kPipe:
    case FdKind::kUnixSocket:
      return Wait::kPipe;
    case FdKind::kSocket:
      return Wait::kSocket;
    case FdKind::kDevice:
      return Wait::kDevice;
    case FdKind::kEpoll:
      return Wait::kPoll;
    case FdKind::kEventLoop:
      return Wait::kEventLoop;
    case FdKind::kTimer:
      return Wait::kSleep;
    case FdKind::kUnknown:
    case FdKind::kOther:
      return Wait::kOther;
  }
  return Wait::kOther;
}

}  // namespace

CallClass classOfCall(std::int64_t number) {
  if (number < 0 || static_cast<std::size_t>(number) >= kNumbers) return {};
  return kTable[static_cast<std::size_t>(number)];
}

Wait waitOfChannel(std::string_view wchan) {
  if (wchan.empty() || wchan == "0") return Wait::kUnknown;
  const auto found = std::find_if(std::begin(kChannels), std::end(kChannels),
                                  [&](const Channel& c) { return wchan.starts_with(c.prefix); });
  return found == std::end(kChannels) ? Wait::kOther : found->wait;
}

FdKind kindOfLink(std::string_view target) {
  if (target.empty() || target.starts_with("socket:")) return FdKind::kUnknown;
  if (target.starts_with("pipe:")) return FdKind::kPipe;
  if (target.starts_with("anon_inode:")) {
    if (target.find("eventpoll") != std::string_view::npos) return FdKind::kEpoll;
    if (target.find("eventfd") != std::string_view::npos) return FdKind::kPipe;
    if (target.find("timerfd") != std::string_view::npos) return FdKind::kTimer;
    return FdKind::kOther;
  }
  if (target.starts_with("/dev/shm/") || target.starts_with("/memfd:"))
    return FdKind::kSharedMemory;
  if (accelerator(target)) return FdKind::kDevice;
  if (target.starts_with("/dev/") || target.starts_with("/proc/") || target.front() != '/')
    return FdKind::kOther;
  return FdKind::kFile;
}

Wait waitOf(CallKind call, FdKind fd) {
  switch (call) {
    case CallKind::kFdRead:
      return readFrom(fd);
    case CallKind::kFdWrite:
      return fd == FdKind::kFile ? Wait::kFileWrite : readFrom(fd);
    case CallKind::kFdAny:
      return fd == FdKind::kDevice ? Wait::kDevice : Wait::kOther;
    case CallKind::kSocket:
      return fd == FdKind::kUnixSocket ? Wait::kPipe : Wait::kSocket;
    case CallKind::kFileMeta:
      return Wait::kFileMeta;
    case CallKind::kFileSync:
      return Wait::kFileWrite;
    case CallKind::kAsyncRead:
      return Wait::kFileRead;
    case CallKind::kPoll:
      return Wait::kPoll;
    case CallKind::kEpoll:
      return fd == FdKind::kUnknown ? Wait::kPoll : readFrom(fd);
    case CallKind::kFutex:
      return Wait::kFutex;
    case CallKind::kSleep:
      return Wait::kSleep;
    case CallKind::kChild:
      return Wait::kChild;
    case CallKind::kMemory:
      return Wait::kMemory;
    case CallKind::kYield:
      return Wait::kRunning;
    case CallKind::kOther:
      return Wait::kOther;
  }
  return Wait::kOther;
}

}  // namespace stallprof
