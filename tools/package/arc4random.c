// SPDX-License-Identifier: MIT
// Part of a portable build only. The static libstdc++ of a newer system asks for arc4random, which
// glibc has from 2.36 on, for its std::random_device; systems with glibc 2.34 lack it.
#include <stdint.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t word = 0;
  while (getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word) {
  }
  return word;
}
