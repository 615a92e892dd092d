/* SPDX-License-Identifier: MIT
 * deny [--unknown] CALL... -- COMMAND...: runs the command with those system calls refused by
 * seccomp (EPERM), as a container's filter does; --unknown: as an old kernel does (ENOSYS). */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned number_of(const char* name) {
  if (!strcmp(name, "perf_event_open")) return SYS_perf_event_open;
  if (!strcmp(name, "process_vm_readv")) return SYS_process_vm_readv;
  if (!strcmp(name, "pidfd_open")) return SYS_pidfd_open;
  if (!strcmp(name, "close_range")) return SYS_close_range;
  if (!strcmp(name, "clone3")) return SYS_clone3;
  if (!strcmp(name, "signalfd4")) return SYS_signalfd4;
  if (!strcmp(name, "memfd_create")) return SYS_memfd_create;
  if (!strcmp(name, "socketpair")) return SYS_socketpair;
  return ~0u;
}

int main(int argc, char** argv) {
  struct sock_filter program[64];
  unsigned short n = 0;
  unsigned error = EPERM;
  int i = 1;
  program[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  if (argc > 1 && !strcmp(argv[1], "--unknown")) {
    error = ENOSYS;
    ++i;
  }
  for (; i < argc && strcmp(argv[i], "--") && n < 60; i++) {
    program[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(argv[i]), 0, 1);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  }
  program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog filter = {n, program};
  if (i + 1 >= argc) return 2;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
    perror("deny");
    return 2;
  }
  execvp(argv[i + 1], argv + i + 1);
  perror("deny");
  return 127;
}
