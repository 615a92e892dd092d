/* SPDX-License-Identifier: MIT
 * counter FILE: appends the number of every signal it gets, one line each, with the value that
 * sigqueue sent along and by whom, until USR2 ends it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int log_fd;

static void note(int signal, siginfo_t* info, void* context) {
  char line[64];
  (void)context;
  const int n = info->si_code == SI_QUEUE ? snprintf(line, sizeof line, "%d %d by %u\n", signal,
                                                     info->si_value.sival_int, info->si_uid)
                                          : snprintf(line, sizeof line, "%d 0\n", signal);
  if (write(log_fd, line, (size_t)n) != n) _exit(3);
  if (signal == SIGUSR2) _exit(0);
}

int main(int argc, char** argv) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  log_fd = open(argc > 1 ? argv[1] : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  for (int i = 1; i <= 64; i++) sigaction(i, &action, NULL);
  if (write(log_fd, "ready\n", 6) != 6) return 3;
  for (;;) pause();
}
