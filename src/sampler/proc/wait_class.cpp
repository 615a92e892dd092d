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

#define CALL(name, ...)                   \
  Row {                                   \
    SYS_##name, { CallKind::__VA_ARGS__ } \
  }
// The calls of asm-generic are on every architecture; older ones only where they exist.
constexpr Row kCalls[] = {
    CALL(read, kFdRead, "read"),
    CALL(readv, kFdRead, "readv"),
    CALL(pread64, kFdRead, "pread64"),
    CALL(preadv, kFdRead, "preadv"),
    CALL(preadv2, kFdRead, "preadv2"),
    CALL(readahead, kFdRead, "readahead"),
    CALL(sendfile, kFdRead, "sendfile", 1),
    CALL(splice, kFdRead, "splice"),
    CALL(copy_file_range, kFdRead, "copy_file_range"),
    CALL(recvfrom, kFdRead, "recvfrom"),
    CALL(recvmsg, kFdRead, "recvmsg"),
    CALL(recvmmsg, kFdRead, "recvmmsg"),
    CALL(write, kFdWrite, "write"),
    CALL(writev, kFdWrite, "writev"),
    CALL(pwrite64, kFdWrite, "pwrite64"),
    CALL(pwritev, kFdWrite, "pwritev"),
    CALL(pwritev2, kFdWrite, "pwritev2"),
    CALL(sendto, kFdWrite, "sendto"),
    CALL(sendmsg, kFdWrite, "sendmsg"),
    CALL(sendmmsg, kFdWrite, "sendmmsg"),
    CALL(ioctl, kFdAny, "ioctl"),
    CALL(accept, kSocket, "accept"),
    CALL(accept4, kSocket, "accept4"),
    CALL(connect, kSocket, "connect"),
    CALL(openat, kFileMeta, "openat"),
    CALL(openat2, kFileMeta, "openat2"),
    CALL(close, kFileMeta, "close"),
    CALL(newfstatat, kFileMeta, "newfstatat"),
    CALL(fstat, kFileMeta, "fstat"),
    CALL(statx, kFileMeta, "statx"),
    CALL(statfs, kFileMeta, "statfs"),
    CALL(getdents64, kFileMeta, "getdents64"),
    CALL(faccessat, kFileMeta, "faccessat"),
    CALL(readlinkat, kFileMeta, "readlinkat"),
    CALL(unlinkat, kFileMeta, "unlinkat"),
    CALL(mkdirat, kFileMeta, "mkdirat"),
    CALL(lseek, kFileMeta, "lseek"),
    CALL(flock, kFileMeta, "flock"),
    CALL(execve, kFileMeta, "execve"),
    CALL(fsync, kFileSync, "fsync"),
    CALL(fdatasync, kFileSync, "fdatasync"),
    CALL(sync_file_range, kFileSync, "sync_file_range"),
    CALL(ftruncate, kFileSync, "ftruncate"),
    CALL(fallocate, kFileSync, "fallocate"),
    CALL(msync, kFileSync, "msync"),
    CALL(sync, kFileSync, "sync"),
    CALL(syncfs, kFileSync, "syncfs"),
    CALL(io_uring_enter, kAsyncRead, "io_uring_enter"),
    CALL(io_getevents, kAsyncRead, "io_getevents"),
    CALL(ppoll, kPoll, "ppoll", 0, 1),
    CALL(pselect6, kPoll, "pselect6", 0, 0),
    CALL(epoll_pwait, kEpoll, "epoll_pwait"),
    CALL(futex, kFutex, "futex"),
    CALL(semtimedop, kFutex, "semtimedop"),
    CALL(semop, kFutex, "semop"),
    CALL(nanosleep, kSleep, "nanosleep"),
    CALL(clock_nanosleep, kSleep, "clock_nanosleep"),
    CALL(wait4, kChild, "wait4"),
    CALL(waitid, kChild, "waitid"),
    CALL(mmap, kMemory, "mmap"),
    CALL(munmap, kMemory, "munmap"),
    CALL(mremap, kMemory, "mremap"),
    CALL(mprotect, kMemory, "mprotect"),
    CALL(madvise, kMemory, "madvise"),
    CALL(brk, kMemory, "brk"),
    CALL(mlock, kMemory, "mlock"),
    CALL(sched_yield, kYield, "sched_yield"),
    CALL(exit_group, kOther, "exit_group"),
    CALL(rt_sigsuspend, kOther, "rt_sigsuspend"),
    CALL(rt_sigtimedwait, kOther, "rt_sigtimedwait"),
#ifdef SYS_futex_waitv  // Linux 5.16
    CALL(futex_waitv, kFutex, "futex_waitv"),
#endif
    CALL(faccessat2, kFileMeta, "faccessat2"),
    CALL(epoll_pwait2, kEpoll, "epoll_pwait2"),
    CALL(renameat2, kFileMeta, "renameat2"),
    CALL(clone, kMemory, "clone"),
    CALL(clone3, kMemory, "clone3"),
    CALL(open, kFileMeta, "open"),
    CALL(stat, kFileMeta, "stat"),
    CALL(lstat, kFileMeta, "lstat"),
    CALL(access, kFileMeta, "access"),
    CALL(readlink, kFileMeta, "readlink"),
    CALL(unlink, kFileMeta, "unlink"),
    CALL(mkdir, kFileMeta, "mkdir"),
    CALL(rename, kFileMeta, "rename"),
    CALL(getdents, kFileMeta, "getdents"),
    CALL(poll, kPoll, "poll", 0, 1),
    CALL(select, kPoll, "select", 0, 0),
    CALL(epoll_wait, kEpoll, "epoll_wait"),
    CALL(pause, kOther, "pause"),
    CALL(vfork, kChild, "vfork"),
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
