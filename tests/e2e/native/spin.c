/* SPDX-License-Identifier: MIT
 * spin SECONDS: keeps one CPU busy for that much CPU time, three parts of it in spin_three, one in
 * spin_one. The clock is asked seldom, so that the two functions are where the time goes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;

static inline __attribute__((always_inline)) void spin(uint64_t x, unsigned long rounds) {
  for (unsigned long i = 0; i < rounds; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  sink = x;
}

NOINLINE void spin_three(unsigned long rounds) { spin(sink | 1, rounds); }
NOINLINE void spin_one(unsigned long rounds) { spin(sink | 3, rounds); }

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const double maximum = argc > 1 ? atof(argv[1]) : 1;
  while (cpu() < maximum) {
    spin_three(300000);
    spin_one(100000);
  }
  printf("%.3f\n", cpu());
  return 0;
}
