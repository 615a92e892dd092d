/* SPDX-License-Identifier: MIT
 * LD_PRELOAD: the leader of the session has no CPU for 80 ms before it reads signals from a
 * descriptor, once where the file STALLPROF_SLOW exists, which it removes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

ssize_t read(int fd, void* to, size_t bytes) {
  static ssize_t (*real)(int, void*, size_t);
  if (!real) real = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  const char* file = getenv("STALLPROF_SLOW");
  if (bytes == sizeof(struct signalfd_siginfo) && file && getsid(0) == getpid() && !unlink(file)) {
    const struct timespec pause = {0, 80 * 1000000};
    nanosleep(&pause, NULL);
  }
  return real(fd, to, bytes);
}
