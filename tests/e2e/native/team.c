/* SPDX-License-Identifier: MIT
 * team SECONDS MINE OTHERS: a team of two OpenMP threads; of each round the first has MINE parts of
 * work, the other OTHERS, and who is done first waits for the rest. Until the process has used so
 * much CPU time; prints how much of it was work, by the threads' own clocks. As a library: team(),
 * called by whoever. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static double clockOf(clockid_t which) {
  struct timespec t;
  clock_gettime(which, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* About 5 ms a part: a wait of several is longer than any sampling period. */
NOINLINE uint64_t team_work(int parts, uint64_t x) {
  for (long i = 0; i < parts * 2500000L; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

double team(double seconds, int mine, int others) {
  double worked = 0;
  uint64_t sink = 1;
  const double end = clockOf(CLOCK_PROCESS_CPUTIME_ID) + seconds;
  while (clockOf(CLOCK_PROCESS_CPUTIME_ID) < end) {
#pragma omp parallel num_threads(2) reduction(+ : worked) reduction(^ : sink)
    {
      const double begin = clockOf(CLOCK_THREAD_CPUTIME_ID);
      sink ^= team_work(omp_get_thread_num() == 0 ? mine : others, sink | 1);
      worked += clockOf(CLOCK_THREAD_CPUTIME_ID) - begin;
    }
  }
  return sink == 0 ? 0 : worked;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double worked = team(atof(argv[1]), atoi(argv[2]), atoi(argv[3]));
  printf("%.4f\n", worked / clockOf(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}
