// SPDX-License-Identifier: MIT
#include "agent/process/system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "agent/process/old_glibc.h"
#include "recording/memory/event_memory.h"

namespace stallprof::agent {
namespace {

std::uint64_t clockNs(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

struct CachedId {
  std::uint32_t tid, generation;
};
constinit thread_local CachedId cachedId{};
std::atomic<std::uint32_t> forks;

struct ThreadStart {
  void (*body)();
  const char* name;
};

}  // namespace

std::uint64_t monotonicNs() { return clockNs(CLOCK_MONOTONIC); }
std::uint64_t threadCpuNs() { return clockNs(CLOCK_THREAD_CPUTIME_ID); }

std::uint32_t processId() { return stallprof_process_id(); }

std::uint32_t threadId() {
  const std::uint32_t generation = forkGeneration();
  if (cachedId.tid == 0 || cachedId.generation != generation)
    cachedId = {stallprof_thread_id(), generation};
  return cachedId.tid;
}

std::uint32_t forkGeneration() { return forks.load(std::memory_order_relaxed); }
void countFork() { forks.store(forks.load() + 1); }

std::uint32_t innerThreadId() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

// That /proc does not have it does not say that it has ended: there it may have another number.
bool threadName(std::uint32_t thread, char (&name)[16]) {
  char path[48];
  textIn(path) << "/proc/self/task/" << std::int64_t{thread} << "/comm";
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT && syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH)
    return false;
  const ssize_t length = fd >= 0 ? read(fd, name, sizeof name - 1) : 0;
  if (fd >= 0) close(fd);
  name[length > 0 ? length : 0] = 0;
  return true;
}

std::uint64_t startTicks() { return stallprof_start_ticks(); }

// 0: free; else by a thread of which generation, plus 1.
Lock::Lock(std::atomic<std::uint32_t>& held) : held_(held) {
  const std::uint32_t mine = forkGeneration() + 1;
  for (std::uint32_t by = 0; !held_.compare_exchange_weak(by, mine, std::memory_order_acquire);)
    if (by == mine) {
      by = 0;
      sched_yield();
    }
}

void* mapShared(const char* path, std::size_t bytes) { return stallprof_map_shared(path, bytes); }

void futexWait(const std::uint32_t* word, std::uint32_t value, std::uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1'000'000'000u),
                   static_cast<long>(ns % 1'000'000'000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, nullptr, 0);
}

void futexWake(const std::uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
}

bool startThread(void (*body)(), const char* name) {
  // CUPTI's completion runs on it and walks on the stack of the library: as much as a megabyte.
  constexpr std::size_t kStack = 1024u * 1024u;
  static ThreadStart starts[4];  // as many as the agent ever starts
  static int used = 0;
  if (used == 4) return false;
  ThreadStart* start = &starts[used++];
  *start = {body, name};
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int failed = pthread_create(
      &thread, &attributes,
      [](void* from) -> void* {
        const auto* s = static_cast<const ThreadStart*>(from);
        prctl(PR_SET_NAME, s->name);
        s->body();
        return nullptr;
      },
      start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return failed == 0;
}

Text& Text::operator<<(const char* more) {
  for (; *more != 0 && room > 1; --room) *at++ = *more++;
  *at = 0;
  return *this;
}

Text& Text::operator<<(std::int64_t number) {
  char digits[24];
  char* p = digits + sizeof digits - 1;
  *p = 0;
  auto left =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  do *--p = static_cast<char>('0' + left % 10);
  while ((left /= 10) != 0);
  if (number < 0) *--p = '-';
  return *this << p;
}

}  // namespace stallprof::agent
