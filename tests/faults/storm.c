/* SPDX-License-Identifier: MIT
 * storm processes|threads N: N children that end at once, made by as many processes as there are
 * CPUs, or N threads, 10,000 of them alive at a time where the host permits it. Prints how many,
 * and how many a second; ends with 4. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ALIVE = 10000 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void* wait_at_the_gate(void* nothing) {
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return nothing;
}

static long threads(long count) {
  static pthread_t alive[ALIVE];
  pthread_attr_t small;
  volatile long made = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  while (made < count) {
    int n = 0;
    pthread_mutex_lock(&gate);
    while (n < ALIVE && made + n < count &&
           !pthread_create(&alive[n], &small, wait_at_the_gate, NULL))
      ++n;
    pthread_mutex_unlock(&gate);
    if (n == 0) return made;
    for (int i = 0; i < n; ++i) pthread_join(alive[i], NULL);
    made += n;
  }
  return made;
}

static long made_here(long count) {
  volatile long made = 0;
  for (; made < count; ++made) {
    const pid_t child = vfork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child) break;
  }
  return made;
}

static long processes(long count) {
  const long makers = sysconf(_SC_NPROCESSORS_ONLN);
  pid_t maker[makers];
  long made = 0;
  for (long i = 0; i < makers; ++i) {
    const long share = count / makers + (i < count % makers);
    if ((maker[i] = fork()) == 0) _exit(made_here(share) != share);
    made += share;
  }
  for (long i = 0; i < makers; ++i) {
    int status = 1;
    if (maker[i] < 0 || waitpid(maker[i], &status, 0) != maker[i] || status != 0) made = -1;
  }
  return made;
}

int main(int argc, char** argv) {
  struct timespec begin, end;
  if (argc < 3) return 2;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const long made = (strcmp(argv[1], "threads") ? processes : threads)(atol(argv[2]));
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double took =
      (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  printf("%ld %.0f\n", made, (double)made / took);
  return 4;
}
