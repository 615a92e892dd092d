// SPDX-License-Identifier: MIT
#include "sampler/proc/wait_class.h"

#include <sys/syscall.h>

#include <utility>
#include <vector>

#include "event/file_systems.h"
#include "tests/catch.h"

using namespace stallprof;

TEST_CASE("a read is classed by what it reads from") {
  const CallClass read = classOfCall(SYS_read);
  CHECK(read.kind == CallKind::kFdRead);
  CHECK(read.name == "read");
  CHECK(waitOf(read.kind, FdKind::kFile) == Wait::kFileRead);
  CHECK(waitOf(read.kind, FdKind::kPipe) == Wait::kPipe);
  CHECK(waitOf(read.kind, FdKind::kSharedMemory) == Wait::kPipe);
  CHECK(waitOf(read.kind, FdKind::kUnixSocket) == Wait::kPipe);
  CHECK(waitOf(read.kind, FdKind::kSocket) == Wait::kSocket);
  CHECK(waitOf(read.kind, FdKind::kDevice) == Wait::kDevice);
  CHECK(waitOf(read.kind, FdKind::kUnknown) == Wait::kOther);
}

TEST_CASE("calls have the class of what they wait for") {
  const auto wait = [](long number, FdKind fd = FdKind::kUnknown) {
    return waitOf(classOfCall(number).kind, fd);
  };
  CHECK(wait(SYS_write, FdKind::kFile) == Wait::kFileWrite);
  CHECK(wait(SYS_write, FdKind::kPipe) == Wait::kPipe);
  CHECK(wait(SYS_fsync) == Wait::kFileWrite);
  CHECK(wait(SYS_openat) == Wait::kFileMeta);
  CHECK(wait(SYS_newfstatat) == Wait::kFileMeta);
  CHECK(wait(SYS_getdents64) == Wait::kFileMeta);
  CHECK(wait(SYS_futex) == Wait::kFutex);
  CHECK(wait(SYS_flock) == Wait::kFutex);  // of a file: nothing is read
  CHECK(wait(SYS_fcntl) == Wait::kFutex);  // no other command of it blocks
  CHECK(wait(SYS_clock_nanosleep) == Wait::kSleep);
  CHECK(wait(SYS_wait4) == Wait::kChild);
  CHECK(wait(SYS_waitid) == Wait::kChild);
  CHECK(wait(SYS_ppoll) == Wait::kPoll);
  CHECK(wait(SYS_epoll_pwait) == Wait::kPoll);
  CHECK(wait(SYS_epoll_pwait, FdKind::kSocket) == Wait::kSocket);
  CHECK(wait(SYS_mmap) == Wait::kMemory);
  CHECK(wait(SYS_munmap) == Wait::kMemory);
  CHECK(wait(SYS_ioctl, FdKind::kDevice) == Wait::kDevice);
  CHECK(wait(SYS_ioctl, FdKind::kOther) == Wait::kOther);
  CHECK(wait(SYS_recvfrom, FdKind::kSocket) == Wait::kSocket);
  CHECK(wait(SYS_recvfrom, FdKind::kUnixSocket) == Wait::kPipe);
  CHECK(wait(SYS_io_uring_enter) == Wait::kFileRead);
  CHECK(wait(SYS_sched_yield) == Wait::kRunning);
  CHECK(classOfCall(SYS_sendfile).fdArg == 1);
}

TEST_CASE("numbers that are no call of ours have no class and do not crash") {
  for (const std::int64_t number : {-1l, 511l, 512l, 100'000l, 1l << 62})
    CHECK(classOfCall(number).kind == CallKind::kOther);
}

TEST_CASE("descriptors are classified by their link") {
  using enum FdKind;
  const std::pair<const char*, FdKind> kLinks[] = {{"/data/train/1.jpg", kFile},
                                                   {"/data/gone.jpg (deleted)", kFile},
                                                   {"/dev/shm/torch_42", kSharedMemory},
                                                   {"/memfd:x (deleted)", kSharedMemory},
                                                   {"pipe:[123]", kPipe},
                                                   {"anon_inode:[eventfd]", kPipe},
                                                   {"anon_inode:[eventpoll]", kEpoll},
                                                   {"anon_inode:[timerfd]", kTimer},
                                                   {"anon_inode:inotify", kOther},
                                                   {"socket:[99]", kUnknown},
                                                   {"/dev/nvidia0", kDevice},
                                                   {"/dev/nvidia-uvm", kDevice},
                                                   {"/dev/pts/3", kOther},
                                                   {"", kUnknown}};
  for (const auto& [link, kind] : kLinks) {
    INFO(link);
    CHECK(kindOfLink(link) == kind);
  }
}

TEST_CASE("servers answer for file systems of clusters") {
  for (const char* type :
       {"nfs4", "lustre", "wekafs", "panfs", "orangefs", "pvfs2", "dvs", "fuse.s3fs"})
    CHECK(answersRemotely(type));
  for (const char* type : {"ext4", "xfs", "tmpfs", "overlay"}) CHECK_FALSE(answersRemotely(type));
}

TEST_CASE("wait channels of several kernels are known by their beginning") {
  const std::pair<Wait, std::vector<const char*>> channels[] = {
      {Wait::kFutex,
       {"futex_wait_queue_me", "futex_do_wait", "locks_lock_inode_wait", "fcntl_setlk"}},
      {Wait::kPipe, {"pipe_read", "anon_pipe_read"}},
      {Wait::kFileRead,
       {"folio_wait_bit_common", "rpc_wait_bit_killable", "request_wait_answer",
        "nvme_submit_sync_cmd"}},
      {Wait::kDevice, {"nvidia_poll", "os_acquire_mutex"}},
      {Wait::kPageFault, {"filemap_fault"}},
      {Wait::kSleep, {"hrtimer_nanosleep"}},
      {Wait::kChild, {"do_wait"}},
      {Wait::kStopped, {"do_signal_stop"}},
      {Wait::kUnknown, {"0", ""}},
      {Wait::kOther, {"a_name_of_next_year"}}};
  for (const auto& [wait, named] : channels)
    for (const char* channel : named) {
      INFO(channel);
      CHECK(waitOfChannel(channel) == wait);
    }
}
