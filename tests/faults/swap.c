/* SPDX-License-Identifier: MIT
 * swap LIBRARY FIFO: maps the library as code, puts the FIFO in its place (in a mount namespace of
 * its own), and runs for a second and a half. 77: that is not permitted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int library = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
  if (library < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
      mount(argv[2], argv[1], NULL, MS_BIND, NULL))
    return 77;
  if (mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, library, 0) == MAP_FAILED) return 1;
  for (struct timespec t = {0, 0}, begin = {0, 0};
       t.tv_sec * 10 + t.tv_nsec / 100000000 <
       begin.tv_sec * 10 + begin.tv_nsec / 100000000 + 15;) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (begin.tv_sec == 0) begin = t;
  }
  puts("out");
  return 4;
}
