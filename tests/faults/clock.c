/* SPDX-License-Identifier: MIT
 * LD_PRELOAD: clocks that go STALLPROF_FAKE_SPEED times as fast, from the program's start on, and
 * waits that are as much shorter: a day in minutes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static long long speed = 1, began[16];

static int real_clock(clockid_t id, struct timespec* t) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  return real(id, t);
}

static int is_of_the_wall(clockid_t id) {
  return id == CLOCK_REALTIME || id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME;
}

__attribute__((constructor)) static void begin(void) {
  struct timespec t;
  for (clockid_t id = 0; id < 16; ++id)
    if (is_of_the_wall(id) && !real_clock(id, &t)) began[id] = t.tv_sec * 1000000000ll + t.tv_nsec;
  if (getenv("STALLPROF_FAKE_SPEED")) speed = atoll(getenv("STALLPROF_FAKE_SPEED"));
}

int clock_gettime(clockid_t id, struct timespec* t) {
  const int done = real_clock(id, t);
  if (done != 0 || !is_of_the_wall(id)) return done;
  const long long real = t->tv_sec * 1000000000ll + t->tv_nsec;
  const long long fake = began[id] + (real - began[id]) * speed;
  t->tv_sec = fake / 1000000000ll;
  t->tv_nsec = fake % 1000000000ll;
  return 0;
}

int ppoll(struct pollfd* fds, nfds_t count, const struct timespec* limit, const sigset_t* mask) {
  static int (*real)(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*);
  if (!real)
    real = (int (*)(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*))dlsym(
        RTLD_NEXT, "ppoll");
  if (!limit) return real(fds, count, limit, mask);
  const long long wait = (limit->tv_sec * 1000000000ll + limit->tv_nsec) / speed;
  const struct timespec shorter = {wait / 1000000000ll, wait % 1000000000ll};
  return real(fds, count, &shorter, mask);
}
int __ppoll_chk(struct pollfd* fds, nfds_t count, const struct timespec* limit,
                const sigset_t* mask, size_t size) {
  (void)size;
  return ppoll(fds, count, limit, mask);
}
