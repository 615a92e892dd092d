/* SPDX-License-Identifier: MIT
 *
 * Marks as a C program makes them: STEPS steps with one phase each, in this process and in a forked
 * child, then an end of the kind asked for.
 *
 *   marks STEPS exit|kill|_exit|exec */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stallprof/annotate.h"

static void train(int steps) {
  for (int i = 0; i < steps; ++i) {
    stallprof_mark step = stallprof_step_begin();
    stallprof_mark compute = stallprof_phase_begin(STALLPROF_COMPUTE);
    usleep(200);
    stallprof_end(compute);
    stallprof_end(step);
  }
}

int main(int count, char** words) {
  int steps = count > 1 ? atoi(words[1]) : 10;
  const char* end = count > 2 ? words[2] : "exit";
  train(steps);
  pid_t child = fork();
  if (child == 0) {
    train(steps);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  (void)stallprof_phase_begin(STALLPROF_EXTRACT); /* never ended: never reported */
  printf("%d %d\n", (int)getpid(), (int)child);
  fflush(stdout);
  if (strcmp(end, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(end, "_exit") == 0) _exit(0);
  if (strcmp(end, "exec") == 0) execl(words[0], words[0], "0", "exit", (char*)NULL);
  return 0;
}
