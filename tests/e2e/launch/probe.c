/* SPDX-License-Identifier: MIT
 * Prints, one line a fact, everything a process was given by whoever started it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char** environ;
static FILE* out;

static void file_of(const char* name, const char* path) {
  char text[65536];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[n < 0 ? 0 : n] = 0;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    fprintf(out, "%s %s\n", name, line);
}

/* Lines of /proc/self/status that describe what was inherited. */
static void status(void) {
  static const char* wanted[] = {
      "Umask",  "Uid",        "Gid",     "Groups",       "NStgid",       "SigPnd",  "ShdPnd",
      "SigBlk", "SigIgn",     "SigCgt",  "CapInh",       "CapPrm",       "CapEff",  "CapBnd",
      "CapAmb", "NoNewPrivs", "Seccomp", "Cpus_allowed", "Mems_allowed", "Threads", "TracerPid"};
  char line[4096];
  FILE* f = fopen("/proc/self/status", "re");
  while (f && fgets(line, sizeof line, f))
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
      if (!strncmp(line, wanted[i], strlen(wanted[i])) && line[strlen(wanted[i])] == ':' &&
          strcmp(wanted[i], "NStgid"))
        fprintf(out, "status %s", line);
  if (f) fclose(f);
}

static void descriptors(int own) {
  DIR* dir = opendir("/proc/self/fd");
  for (struct dirent* e; dir && (e = readdir(dir));) {
    const int fd = atoi(e->d_name);
    char link[64], target[4096];
    if (e->d_name[0] == '.' || fd == dirfd(dir) || fd == own) continue;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = 0;
    if (!strncmp(target, "pipe:", 5) || !strncmp(target, "socket:", 7)) strcpy(target, "pipe");
    fprintf(out, "fd %d %s flags=%x cloexec=%d offset=%lld tty=%d\n", fd, target,
            fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), (long long)lseek(fd, 0, SEEK_CUR), isatty(fd));
  }
  if (dir) closedir(dir);
}

int main(int argc, char** argv) {
  /* argv[1]: where to write. The lowest free number is a fact too. */
  const int lowest = open("/dev/null", O_RDONLY);
  close(lowest);
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  out = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 40), "w");
  const int own = fileno(out);
  close(fd);
  fprintf(out, "lowest %d\n", lowest);
  for (int i = 0; i < argc; i++) fprintf(out, "argv %s\n", argv[i]);
  for (char** e = environ; *e; e++) fprintf(out, "env %s\n", *e);
  status();
  descriptors(own);
  for (int i = 0; i < RLIM_NLIMITS; i++) {
    struct rlimit64 limit;
    getrlimit64(i, &limit);
    fprintf(out, "rlimit %d %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
            (unsigned long long)limit.rlim_max);
  }
  for (int i = 1; i <= 64; i++) {
    struct sigaction action;
    if (sigaction(i, NULL, &action) == 0)
      fprintf(out, "action %d %s\n", i, action.sa_handler == SIG_IGN ? "ignored" : "default");
  }
  for (int i = 0; i < 3; i++) {
    struct itimerval timer;
    getitimer(i, &timer);
    fprintf(out, "timer %d %d every %ld\n", i, timer.it_value.tv_sec || timer.it_value.tv_usec,
            (long)timer.it_interval.tv_sec);
  }
  char cwd[4096];
  fprintf(out, "cwd %s\n", getcwd(cwd, sizeof cwd));
  fprintf(out, "sid %d group-is-mine %d group %d\n", getsid(0), getpgrp() == getpid(), getpgrp());
  const int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
  fprintf(out, "tty %d foreground %d\n", tty >= 0, tty >= 0 && tcgetpgrp(tty) == getpgrp());
  struct termios modes;
  memset(&modes, 0, sizeof modes);
  if (tty >= 0 && tcgetattr(tty, &modes) == 0)
    fprintf(out, "termios %x %x %x %x\n", modes.c_iflag, modes.c_oflag, modes.c_cflag,
            modes.c_lflag);
  if (tty >= 0) close(tty);
  fprintf(out, "nice %d\n", getpriority(PRIO_PROCESS, 0));
  fprintf(out, "scheduler %d ioprio %ld\n", sched_getscheduler(0), syscall(SYS_ioprio_get, 1, 0));
  fprintf(out, "personality %x slack %d subreaper-unset", personality(0xffffffff),
          prctl(PR_GET_TIMERSLACK));
  int flag = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &flag);
  fprintf(out, " %d", flag);
  prctl(PR_GET_PDEATHSIG, &flag);
  fprintf(out, " pdeathsig %d dumpable %d securebits %d\n", flag, prctl(PR_GET_DUMPABLE),
          prctl(PR_GET_SECUREBITS));
  fprintf(out, "children %d\n", waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 1);
  file_of("oom", "/proc/self/oom_score_adj");
  file_of("cgroup", "/proc/self/cgroup");
  static const char* spaces[] = {"ipc", "mnt", "net", "pid", "user", "uts", "cgroup", "time"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    char path[64], target[128];
    snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
    const ssize_t n = readlink(path, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = 0;
    fprintf(out, "ns %s\n", target);
  }
  long in = 0;
  char byte;
  while (fcntl(0, F_GETFD) >= 0 && !isatty(0) && read(0, &byte, 1) == 1) in++;
  fprintf(out, "stdin %ld\n", in);
  return fclose(out) != 0;
}
