/* SPDX-License-Identifier: MIT
 * counter FILE: appends the number of every signal it gets, one line each, with the value and user
 * that sigqueue sent along, until USR2 ends it. */
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
  const int value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
  const unsigned user = info->si_code == SI_QUEUE ? info->si_uid : 0;
  const int n = snprintf(line, sizeof line, "%d %d %u\n", signal, value, user);
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
