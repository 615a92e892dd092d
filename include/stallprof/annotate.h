/* SPDX-License-Identifier: MIT
 *
 * Annotates the steps and phases of a training program in C or C++ for stallprof.
 *
 *     #include <stallprof/annotate.h>
 *
 *     stallprof_mark step = stallprof_step_begin();
 *     stallprof_mark read = stallprof_phase_begin(STALLPROF_EXTRACT);
 *     ...                                    // read the batch
 *     stallprof_end(read);
 *     stallprof_mark work = stallprof_phase_begin(STALLPROF_COMPUTE);
 *     ...
 *     stallprof_end(work);
 *     stallprof_end(step);
 *
 * or, in C++, `stallprof::StepMark step;` and `stallprof::PhaseMark read(STALLPROF_EXTRACT);`,
 * which end with their scope.
 *
 * One file, nothing to link. Under `stallprof run` each end of a mark stores one record in memory
 * that the recorder reads; otherwise a mark does nothing. With -DSTALLPROF_ANNOTATE_OFF, or on a
 * compiler or system other than GCC and Clang on little-endian Linux, nothing is compiled in.
 *
 * Meaning: in a step, time outside of phases is compute; where phases overlap, the inner one
 * counts. Between two steps, time outside of phases is "other". The report takes steps and phases
 * from the thread that marks most steps, in each process (rank). Without steps, a step begins where
 * data (extract, transform, load) follows compute.
 *
 * Units: times are CLOCK_MONOTONIC in nanoseconds, read where a mark begins and ends.
 * Threads: any. A mark is a value; end it once, on the thread that began it. A child of fork()
 * marks on its own; ending a mark of its parent there has no effect.
 * Errors: none are reported. A mark that finds no room is dropped, and counted in the report.
 * Room: 64 KiB for each process and shared library, emptied 12 times a second: some 200 steps with
 * four phases each. A kill -9 loses the marks that have not ended, and no others.
 * Cost (tests/bench/annotate.cpp): 1 ns a mark, begin and end, while nothing records; else 60 ns.
 * No system call except at a thread's first mark, no allocation, no waiting for a lock. */
#ifndef STALLPROF_ANNOTATE_H
#define STALLPROF_ANNOTATE_H

#include <stdint.h>

/* What an interval of a thread's time was for. */
enum stallprof_phase {
  STALLPROF_EXTRACT = 1,   /* read or receive samples */
  STALLPROF_TRANSFORM = 2, /* decode, augment, collate */
  STALLPROF_LOAD = 3,      /* move a ready batch to compute */
  STALLPROF_COMPUTE = 4,   /* forward, backward, update */
  STALLPROF_SYNC = 5,      /* wait for a device */
  STALLPROF_COMM = 6,      /* wait for other ranks */
  STALLPROF_PERIODIC = 7,  /* checkpoint, evaluation, logging */
  STALLPROF_OTHER = 8
};

typedef struct stallprof_mark {
  uint64_t at;    /* 0: nothing records, or it has ended */
  uint32_t owner; /* the process that began it */
  uint32_t phase; /* 0: a step */
} stallprof_mark;

#if defined(__linux__) && defined(__GNUC__) && !defined(STALLPROF_ANNOTATE_OFF) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define STALLPROF_ANNOTATES 1
#else
#define STALLPROF_ANNOTATES 0
#endif

#if STALLPROF_ANNOTATES

#if !defined(__USE_MISC) && defined(__GLIBC__)
#error "stallprof/annotate.h: compile with -std=gnu99 or later, or -D_GNU_SOURCE"
#endif

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the event memory; its layout is defined in src/recording/memory/event_memory.h */

#define STALLPROF_A_MAGIC 0x31304d454d505453ull
#define STALLPROF_A_SLOTS 512u
#define STALLPROF_A_RING 65536u
#define STALLPROF_A_PAGE 4096u /* the header; the head of a slot */
#define STALLPROF_A_SLOT (STALLPROF_A_PAGE + STALLPROF_A_RING)
#define STALLPROF_A_BYTES ((size_t)STALLPROF_A_PAGE + (size_t)STALLPROF_A_SLOTS * STALLPROF_A_SLOT)
#define STALLPROF_A_VARIABLE "STALLPROF_EVENTS"
#define STALLPROF_A_RUN "STALLPROF_RECORDING"
#define STALLPROF_A_SPAN 37 /* event/kinds.h */
#define STALLPROF_A_RANGE 47

struct stallprof_a_header {
  uint64_t magic;
  uint32_t version, slots, ring_bytes, closed;
  uint64_t run;
  int64_t offsets[2];
  uint32_t claims;
};
struct stallprof_a_slot {
  uint32_t owner, reserved;
  uint64_t start, head, dropped;
  uint8_t gap[32];
  uint64_t tail;
};

/* Not inherited by a forked child: the kernel gives it an empty page (MADV_WIPEONFORK). */
struct stallprof_a_own {
  struct stallprof_a_slot* slot;
  uint32_t pid; /* 0: no slot was claimed yet */
  uint32_t writing;
};

struct stallprof_a_state {
  struct stallprof_a_header* memory; /* NULL: not opened, or none */
  struct stallprof_a_own* own;
  uint32_t open; /* 0: not tried, 1: being opened, 2: open, 3: none */
};

/* One for each program or shared library, however many of its files include this. */
__attribute__((weak, visibility("hidden"))) struct stallprof_a_state stallprof_a_state_ = {NULL,
                                                                                           NULL, 0};

static inline uint64_t stallprof_a_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Start time of this process in clock ticks (field 22 of its stat), which with the pid identifies
 * it. 0: unknown. */
static inline uint64_t stallprof_a_start(void) {
  char text[1024];
  ssize_t got;
  char* p;
  int field, fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = 0;
  p = strrchr(text, ')'); /* the name before it may contain any byte */
  for (field = 2; p && field < 22; ++field) p = strchr(p + 1, ' ');
  return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* An environment may be carried to another host or into another run: whose memory it is says the
 * hash (FNV-1a) of the recording's name in its header. */
static inline int stallprof_a_is_ours(const struct stallprof_a_header* memory) {
  const char* recording = getenv(STALLPROF_A_RUN);
  uint64_t name = 14695981039346656037ull;
  if (!memory->run || !recording) return 1;
  for (; *recording; ++recording) name = (name ^ (unsigned char)*recording) * 1099511628211ull;
  return memory->run == name;
}

static inline struct stallprof_a_header* stallprof_a_map(const char* path) {
  struct stat status;
  struct stallprof_a_header* memory;
  void* at = MAP_FAILED;
  int fd;
  /* Never open a device or a pipe, which the number may be of on another host. */
  if (!path || strncmp(path, "/proc/", 6) != 0 || stat(path, &status) != 0 ||
      !S_ISREG(status.st_mode))
    return NULL;
  fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return NULL;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      (uint64_t)status.st_size >= STALLPROF_A_BYTES)
    at = mmap(NULL, STALLPROF_A_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return NULL;
  memory = (struct stallprof_a_header*)at;
  if (memory->magic == STALLPROF_A_MAGIC && memory->version == 1 &&
      memory->slots == STALLPROF_A_SLOTS && memory->ring_bytes == STALLPROF_A_RING &&
      !__atomic_load_n(&memory->closed, __ATOMIC_RELAXED) && stallprof_a_is_ours(memory))
    return memory;
  munmap(at, STALLPROF_A_BYTES);
  return NULL;
}

static inline int stallprof_a_open(void) {
  struct stallprof_a_state* s = &stallprof_a_state_;
  uint32_t none = 0;
  int yields;
  if (__atomic_compare_exchange_n(&s->open, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    struct stallprof_a_header* memory = stallprof_a_map(getenv(STALLPROF_A_VARIABLE));
    void* own = MAP_FAILED;
    if (memory)
      own =
          mmap(NULL, STALLPROF_A_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own != MAP_FAILED &&
        madvise(own, STALLPROF_A_PAGE, 18 /* MADV_WIPEONFORK, Linux 4.14 */) == 0) {
      s->memory = memory;
      s->own = (struct stallprof_a_own*)own;
    }
    none = s->own ? 2 : 3;
    __atomic_store_n(&s->open, none, __ATOMIC_RELEASE);
  }
  /* Another thread is opening it, or was when this process was forked: wait only for a while. */
  for (yields = 0; none == 1 && yields < 1000; ++yields) {
    sched_yield();
    none = __atomic_load_n(&s->open, __ATOMIC_ACQUIRE);
  }
  return none == 2;
}

static inline struct stallprof_a_slot* stallprof_a_claim(uint32_t pid) {
  unsigned char* slots = (unsigned char*)stallprof_a_state_.memory + STALLPROF_A_PAGE;
  uint32_t i;
  for (i = 0; i < STALLPROF_A_SLOTS; ++i) {
    struct stallprof_a_slot* s =
        (struct stallprof_a_slot*)(slots +
                                   (size_t)((pid + i) % STALLPROF_A_SLOTS) * STALLPROF_A_SLOT);
    uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&s->owner, &none, pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    s->start = stallprof_a_start();
    __atomic_add_fetch(&stallprof_a_state_.memory->claims, 1, __ATOMIC_RELEASE);
    return s;
  }
  return NULL;
}

/* Bounded: a writer that keeps the lock is off its CPU; one record is worth less than waiting. */
static inline int stallprof_a_lock(struct stallprof_a_own* own) {
  int i;
  for (i = 0; i < 200; ++i)
    if (!__atomic_load_n(&own->writing, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&own->writing, 1, __ATOMIC_ACQUIRE))
      return 1;
  return 0;
}

static inline uint32_t stallprof_a_thread(uint32_t pid) {
  static __thread uint32_t tid, of;
  if (of != pid) {
    tid = (uint32_t)syscall(SYS_gettid);
    of = pid;
  }
  return tid;
}

/* The process id if the process has a slot, else 0. */
static inline uint32_t stallprof_a_ready(void) {
  struct stallprof_a_state* s = &stallprof_a_state_;
  struct stallprof_a_own* own;
  uint32_t pid;
  const uint32_t open = __atomic_load_n(&s->open, __ATOMIC_ACQUIRE);
  if (open == 3 || (open != 2 && !stallprof_a_open())) return 0;
  own = s->own;
  pid = __atomic_load_n(&own->pid, __ATOMIC_ACQUIRE);
  if (!pid && stallprof_a_lock(own)) {
    pid = own->pid;
    if (!pid) {
      pid = (uint32_t)getpid();
      own->slot = stallprof_a_claim(pid);
      __atomic_store_n(&own->pid, pid, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&own->writing, 0, __ATOMIC_RELEASE);
  }
  return pid && own->slot ? pid : 0;
}

/* `words` are a record: a header of three words, then its values. 0: there is no room. */
static inline int stallprof_a_write(struct stallprof_a_slot* slot, const uint64_t* words,
                                    uint32_t count) {
  unsigned char* data = (unsigned char*)slot + STALLPROF_A_PAGE;
  const uint64_t head = slot->head; /* has no other writer */
  const uint64_t used = head - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  const uint32_t at = (uint32_t)(head % STALLPROF_A_RING), bytes = 8 * count;
  const uint32_t padding = bytes > STALLPROF_A_RING - at ? STALLPROF_A_RING - at : 0;
  if (used > STALLPROF_A_RING || (uint64_t)bytes + padding > STALLPROF_A_RING - used) return 0;
  if (padding) *(uint64_t*)(void*)(data + at) = padding; /* kind 0 */
  memcpy(padding ? data : data + at, words, bytes);
  __atomic_store_n(&slot->head, head + padding + bytes, __ATOMIC_RELEASE);
  return 1;
}

static inline void stallprof_a_put(uint64_t* words, uint32_t count, uint32_t kind, uint32_t values,
                                   const stallprof_mark* mark) {
  struct stallprof_a_own* own = stallprof_a_state_.own;
  struct stallprof_a_slot* slot = own->slot;
  int stored = 0;
  if (__atomic_load_n(&stallprof_a_state_.memory->closed, __ATOMIC_RELAXED)) return;
  words[0] = 8 * count | (uint64_t)kind << 32 | (uint64_t)values << 48;
  words[1] = stallprof_a_thread(mark->owner);
  words[2] = mark->at;
  if (stallprof_a_lock(own)) {
    stored = stallprof_a_write(slot, words, count);
    __atomic_store_n(&own->writing, 0, __ATOMIC_RELEASE);
  }
  if (!stored) __atomic_fetch_add(&slot->dropped, 1, __ATOMIC_RELAXED);
}

static inline stallprof_mark stallprof_a_begin(uint32_t phase) {
  stallprof_mark mark = {0, 0, 0};
  mark.owner = stallprof_a_ready();
  mark.phase = phase;
  if (mark.owner) mark.at = stallprof_a_now();
  return mark;
}

/* ---- what a program calls */

static inline stallprof_mark stallprof_step_begin(void) { return stallprof_a_begin(0); }
static inline stallprof_mark stallprof_phase_begin(enum stallprof_phase phase) {
  return stallprof_a_begin((uint32_t)phase);
}
static inline void stallprof_end(stallprof_mark mark) {
  uint64_t words[12] = {0};
  if (!mark.at || stallprof_a_ready() != mark.owner) return;
  words[3] = stallprof_a_now() - mark.at;
  if (mark.phase) { /* PhaseSpan: duration, phase, source (mark) */
    words[4] = mark.phase;
    stallprof_a_put(words, 6, STALLPROF_A_SPAN, 3, &mark);
  } else { /* Range: duration, name, domain */
    words[4] = 4;
    memcpy(words + 5, "step", 4);
    words[6] = 9;
    memcpy(words + 7, "stallprof", 9);
    stallprof_a_put(words, 9, STALLPROF_A_RANGE, 3, &mark);
  }
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#else /* not STALLPROF_ANNOTATES */

static inline stallprof_mark stallprof_step_begin(void) {
  stallprof_mark mark = {0, 0, 0};
  return mark;
}
static inline stallprof_mark stallprof_phase_begin(enum stallprof_phase phase) {
  (void)phase;
  return stallprof_step_begin();
}
static inline void stallprof_end(stallprof_mark mark) { (void)mark; }

#endif

#ifdef __cplusplus
namespace stallprof {

/* A phase, and a step: from here to the end of the scope. */
class PhaseMark {
 public:
  explicit PhaseMark(stallprof_phase phase) : mark_(stallprof_phase_begin(phase)) {}
  ~PhaseMark() { stallprof_end(mark_); }
  PhaseMark(const PhaseMark&) = delete;
  PhaseMark& operator=(const PhaseMark&) = delete;

 private:
  stallprof_mark mark_;
};

class StepMark {
 public:
  StepMark() : mark_(stallprof_step_begin()) {}
  ~StepMark() { stallprof_end(mark_); }
  StepMark(const StepMark&) = delete;
  StepMark& operator=(const StepMark&) = delete;

 private:
  stallprof_mark mark_;
};

} /* namespace stallprof */
#endif

#endif
