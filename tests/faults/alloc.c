/* SPDX-License-Identifier: MIT
 * LD_PRELOAD: the STALLPROF_FAIL_AT-th allocation fails, with STALLPROF_FAIL_EVER all from there
 * on. Each process whose allocation failed adds a byte to the file STALLPROF_FAIL_LOG. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

static atomic_long done;
static long at = -1;
static int ever;
static const char* log_path;

__attribute__((constructor)) static void begin(void) {
  if (getenv("STALLPROF_FAIL_AT")) at = atol(getenv("STALLPROF_FAIL_AT"));
  ever = getenv("STALLPROF_FAIL_EVER") != NULL;
  log_path = getenv("STALLPROF_FAIL_LOG");
  done = 0;
}

static void add_to_log(void) {
  const int log = log_path ? open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (log < 0) return;
  if (write(log, "f", 1) != 1) _exit(99);
  close(log);
}

static int fails(void) {
  const long n = atomic_fetch_add(&done, 1) + 1;
  if (at < 0 || (ever ? n < at : n != at)) return 0;
  if (n == at) add_to_log();
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
