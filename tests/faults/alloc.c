/* SPDX-License-Identifier: MIT
 * LD_PRELOAD: the STALLPROF_FAIL_AT-th allocation fails, with STALLPROF_FAIL_EVER all from there
 * on. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

static atomic_long done;
static long at = -1;
static int ever;

__attribute__((constructor)) static void begin(void) {
  if (getenv("STALLPROF_FAIL_AT")) at = atol(getenv("STALLPROF_FAIL_AT"));
  ever = getenv("STALLPROF_FAIL_EVER") != NULL;
  done = 0;
}

static int fails(void) {
  const long n = atomic_fetch_add(&done, 1) + 1;
  if (at < 0 || (ever ? n < at : n != at)) return 0;
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
