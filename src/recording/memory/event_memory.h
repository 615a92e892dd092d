/* SPDX-License-Identifier: MIT
 *
 * Event memory: how code inside the job hands events to the recorder without a descriptor, a lock
 * or a system call. C, because the hook's extension is C. FORMAT.md, "Event memory", is the prose.
 *
 * The recorder makes one memfd of STALLPROF_MEMORY_BYTES and names it in the job's environment as
 * STALLPROF_EVENTS=/proc/RECORDER/fd/N. A process of the job opens, maps and closes it, then claims
 * a slot: compare-and-swap of `owner` from 0 to its pid, then writes `startTicks` (0 if unknown, or
 * where another time namespace counts it otherwise). Who can open that path sees the recorder's
 * /proc: there /proc/self has the pid that the recorder knows, whatever namespace the process is
 * in. A slot has one writer at a time (the hook writes under the GIL) and one reader, the recorder,
 * which frees it (owner back to 0) when the owner is gone and all is drained. After fork the child
 * must forget its parent's slot and claim its own.
 *
 * Ring: `head` and `tail` count bytes ever written and read; the byte at position p is
 * data[p % STALLPROF_RING_BYTES]. A record never straddles the end: the writer fills the rest with
 * a padding record (kind 0). No room: the record is dropped and `dropped` is increased.
 *
 * Record: header, then `values` values, 8-byte aligned, `size` bytes in all.
 * A value is 8 bytes: for an integer, the integer; for a text, its length, followed by that many
 * bytes and zeros up to a multiple of 8. Which it is, is known from the kind: values are the fields
 * of the event struct of that kind, in order, without its ThreadId and ProcessId fields, which the
 * recorder fills in from the slot's owner and the header's tid. */
#ifndef STALLPROF_RECORDING_EVENT_MEMORY_H
#define STALLPROF_RECORDING_EVENT_MEMORY_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STALLPROF_MEMORY_MAGIC 0x31304d454d505453ull /* "STPMEM01" */
#define STALLPROF_MEMORY_VERSION 1u
#define STALLPROF_MEMORY_SLOTS 512u
#define STALLPROF_RING_BYTES 65536u /* a power of two */
#define STALLPROF_MEMORY_VARIABLE "STALLPROF_EVENTS"
#define STALLPROF_RUN_VARIABLE "STALLPROF_RECORDING" /* the recording's directory */
#define STALLPROF_TEXT_LIMIT 1024u                   /* longer texts are cut by the writer */

struct stallprof_memory_header { /* one page */
  uint64_t magic;
  uint32_t version;
  uint32_t slots;
  uint32_t ring_bytes;
  uint32_t closed;                           /* set by the recorder at its end: writers stop */
  uint64_t run;                              /* stallprof_run_name() of the recording; 0: any */
  int64_t monotonic_offset, boottime_offset; /* of the recorder's time namespace, ns */
  uint32_t claims;                           /* each writer adds 1 once it owns a slot */
  uint8_t reserved[4096 - 52];
};

struct stallprof_slot {
  uint32_t owner; /* pid, as the recorder's /proc has it; 0: free */
  uint32_t reserved0;
  uint64_t start_ticks;
  uint64_t head;    /* written by the owner, release */
  uint64_t dropped; /* records; written by the owner */
  uint8_t reserved1[32];
  uint64_t tail; /* written by the recorder, release */
  uint8_t reserved2[4096 - 72];
  uint8_t data[STALLPROF_RING_BYTES];
};

#define STALLPROF_MEMORY_BYTES \
  (sizeof(struct stallprof_memory_header) + STALLPROF_MEMORY_SLOTS * sizeof(struct stallprof_slot))

struct stallprof_record {
  uint32_t size; /* bytes with this header; a multiple of 8 */
  uint16_t kind; /* event/kinds.h; 0: padding */
  uint16_t values;
  uint32_t tid; /* of the writing thread, as the recorder's /proc has it */
  uint32_t reserved;
  uint64_t at; /* CLOCK_MONOTONIC of the recorder's time namespace, ns */
};

/* ---- the job's side: opening the memory, claiming a slot, storing records
 *
 * C11 and C++20, shared by the hook's extension and the agent, which live in other people's
 * processes: no allocation, nothing printed, no descriptor kept. Threads: a slot has one writer at
 * a time, so the caller serializes all calls of one writer (the hook by the GIL, the agent by a
 * bounded lock); only stallprof_writer_drop may be called from any thread at any time. */

/* With all slots taken, a free one is searched for again only so often (puts): a search reads 512
 * cache lines. Workers put one or two a batch, and slots of an epoch's old ones are free in
 * seconds. */
#define STALLPROF_SLOT_RETRY 8u

struct stallprof_event_writer {
  struct stallprof_memory_header* memory; /* NULL: off */
  struct stallprof_slot* slot;            /* this process's; NULL: not claimed yet */
  uint32_t puts_to_skip;                  /* before a slot is searched for again */
  int64_t clock_offset; /* own CLOCK_MONOTONIC less the recorder's, ns; set with the slot */
};

struct stallprof_value { /* of a record: an integer, or a text where `text` is not NULL */
  uint64_t number;       /* the text's length in bytes, at most STALLPROF_TEXT_LIMIT */
  const char* text;
};

/* What a run's memory and its environment have in common, so that an environment carried to another
 * host or into another run is recognized: FNV-1a of the recording's directory. Never 0. */
static inline uint64_t stallprof_run_name(const char* recording) {
  uint64_t name = 14695981039346656037u;
  for (; *recording; ++recording) name = (name ^ (unsigned char)*recording) * 1099511628211u;
  return name ? name : 1;
}

/* Whether `memory` is of the run that this process's environment names. */
static inline int stallprof_is_our_run(const struct stallprof_memory_header* memory,
                                       const char* recording) {
  return !memory->run || !recording || memory->run == stallprof_run_name(recording);
}

/* The number at the end of a link of /proc; `otherwise` where it cannot be read. */
static inline uint32_t stallprof_number_of(const char* link, uint32_t otherwise) {
  char text[64];
  const ssize_t length = readlink(link, text, sizeof text - 1);
  if (length <= 0) return otherwise;
  text[length] = 0;
  const char* last = strrchr(text, '/');
  const uint32_t number = (uint32_t)strtoul(last ? last + 1 : text, NULL, 10);
  return number ? number : otherwise;
}

/* This process and thread as the recorder knows them, in whatever pid namespace they are. */
static inline uint32_t stallprof_process_id(void) {
  return stallprof_number_of("/proc/self", (uint32_t)getpid());
}
static inline uint32_t stallprof_thread_id(void) {
  return stallprof_number_of("/proc/thread-self", (uint32_t)syscall(SYS_gettid));
}

/* Offsets of this process's time namespace, ns: CLOCK_MONOTONIC, then CLOCK_BOOTTIME. Zeros where
 * there is none, or only its children will have one. */
static inline void stallprof_time_offsets(int64_t offsets[2]) {
  char text[256], own[64], children[64];
  offsets[0] = offsets[1] = 0;
  const int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  const ssize_t a = readlink("/proc/self/ns/time", own, sizeof own);
  const ssize_t b = readlink("/proc/self/ns/time_for_children", children, sizeof children);
  if (got <= 0 || a != b || a <= 0 || memcmp(own, children, (size_t)a) != 0) return;
  text[got] = 0;
  char* p = text; /* two lines: a clock's name, seconds, nanoseconds */
  for (int i = 0; i < 2; ++i) {
    if (!(p = strchr(p, ' '))) return;
    const int64_t seconds = strtoll(p, &p, 10);
    offsets[i] = seconds * 1000000000 + strtoll(p, &p, 10);
    if (!(p = strchr(p, '\n'))) return;
    ++p;
  }
}

/* Maps `bytes` of the recorder's memory named `path` (/proc/PID/fd/N). NULL: it is not that. */
static inline void* stallprof_map_shared(const char* path, size_t bytes) {
  struct stat status;
  void* at = MAP_FAILED;
  /* Never open a device by mistake, which the number may be of on another host. fstatat() and
   * fstat() themselves are new in glibc 2.33. */
  if (strncmp(path, "/proc/", 6) != 0 || syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0 ||
      !S_ISREG(status.st_mode))
    return NULL;
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  if (syscall(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) &&
      (uint64_t)status.st_size >= bytes)
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? NULL : at;
}

/* When this process started: field 22 of /proc/self/stat. With the pid it names one process for
 * ever. 0: unknown. */
static inline uint64_t stallprof_start_ticks(void) {
  char text[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = 0;
  char* p = strrchr(text, ')'); /* the name before it may hold anything */
  for (int field = 2; p && field < 22; ++field) p = strchr(p + 1, ' ');
  return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* Whether `writer` has an event memory now: maps the one named `path` where it has none. */
static inline int stallprof_writer_open(struct stallprof_event_writer* writer, const char* path) {
  if (writer->memory) return 1;
  void* at = stallprof_map_shared(path, STALLPROF_MEMORY_BYTES);
  if (!at) return 0;
  struct stallprof_memory_header* m = (struct stallprof_memory_header*)at;
  if (m->magic == STALLPROF_MEMORY_MAGIC && m->version == STALLPROF_MEMORY_VERSION &&
      m->slots == STALLPROF_MEMORY_SLOTS && m->ring_bytes == STALLPROF_RING_BYTES && !m->closed &&
      stallprof_is_our_run(m, getenv(STALLPROF_RUN_VARIABLE)))
    writer->memory = m;
  else
    munmap(at, STALLPROF_MEMORY_BYTES);
  return writer->memory != NULL;
}

/* Whether a recorder still reads what is written. */
static inline int stallprof_writer_is_open(const struct stallprof_event_writer* writer) {
  return writer->memory && !__atomic_load_n(&writer->memory->closed, __ATOMIC_RELAXED);
}

/* A free slot, now this process's; NULL: all are taken. */
static inline struct stallprof_slot* stallprof_claim_slot(struct stallprof_event_writer* writer) {
  struct stallprof_slot* slots = (struct stallprof_slot*)(writer->memory + 1);
  const uint32_t pid = stallprof_process_id();
  int64_t offsets[2];
  stallprof_time_offsets(offsets);
  writer->clock_offset = offsets[0] - writer->memory->monotonic_offset;
  const int comparable = !writer->clock_offset && offsets[1] == writer->memory->boottime_offset;
  for (uint32_t i = 0; i < STALLPROF_MEMORY_SLOTS; ++i) {
    struct stallprof_slot* s = &slots[(pid + i) % STALLPROF_MEMORY_SLOTS];
    uint32_t none = 0;
    if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&s->owner, &none, pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      s->start_ticks = comparable ? stallprof_start_ticks() : 0;
      __atomic_add_fetch(&writer->memory->claims, 1, __ATOMIC_RELEASE);
      return s;
    }
  }
  return NULL;
}

/* The writer's slot, claimed at the first call; NULL: there is none. */
static inline struct stallprof_slot* stallprof_writer_slot(struct stallprof_event_writer* writer) {
  if (writer->slot) return writer->slot;
  if (writer->puts_to_skip) {
    --writer->puts_to_skip;
    return NULL;
  }
  struct stallprof_slot* slot = stallprof_claim_slot(writer);
  if (!slot) writer->puts_to_skip = STALLPROF_SLOT_RETRY;
  __atomic_store_n(&writer->slot, slot, __ATOMIC_RELEASE);
  return slot;
}

/* In a forked child, which shares the mapping: the parent's slot is not its own. */
static inline void stallprof_writer_forget_slot(struct stallprof_event_writer* writer) {
  __atomic_store_n(&writer->slot, NULL, __ATOMIC_RELAXED);
  writer->puts_to_skip = 0;
}

/* Counts a record that had no room or was not even tried. */
static inline void stallprof_writer_drop(struct stallprof_event_writer* writer) {
  struct stallprof_slot* slot = __atomic_load_n(&writer->slot, __ATOMIC_ACQUIRE);
  if (slot) __atomic_fetch_add(&slot->dropped, 1, __ATOMIC_RELAXED);
}

static inline uint32_t stallprof_padded(uint64_t bytes) {
  return (uint32_t)((bytes + 7) & ~(uint64_t)7);
}

/* Where `size` bytes fit in one piece; `*head` is moved behind them, over a padding record where
 * they do not fit before the ring's end. NULL: no room. */
static inline uint8_t* stallprof_reserve(struct stallprof_slot* slot, uint32_t size,
                                         uint64_t* head) {
  const uint64_t used = *head - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  const uint32_t at = (uint32_t)(*head % STALLPROF_RING_BYTES);
  const uint32_t rest = STALLPROF_RING_BYTES - at;
  const uint32_t padding = size > rest ? rest : 0;
  /* `tail` lies in memory that the job can write to: it is checked, not trusted. */
  if (used > STALLPROF_RING_BYTES || (uint64_t)size + padding > STALLPROF_RING_BYTES - used)
    return NULL;
  if (padding) {
    /* Less than a header may be left: then only its first word, size and kind 0, is there. */
    struct stallprof_record pad;
    memset(&pad, 0, sizeof pad);
    pad.size = padding;
    memcpy(slot->data + at, &pad, padding < sizeof pad ? padding : sizeof pad);
  }
  *head += padding + size;
  return padding ? slot->data : slot->data + at;
}

/* Stores `record`, whose size is computed here, with its `record.values` values. The record becomes
 * visible whole: `head` is stored last, with release. 0: no room. */
static inline int stallprof_write_record(struct stallprof_slot* slot,
                                         struct stallprof_record record,
                                         const struct stallprof_value* values) {
  record.size = (uint32_t)sizeof record;
  for (int i = 0; i < record.values; ++i)
    record.size += 8 + (values[i].text ? stallprof_padded(values[i].number) : 0);
  uint64_t head = slot->head; /* only the owner writes it */
  uint8_t* out = stallprof_reserve(slot, record.size, &head);
  if (!out) return 0;
  memcpy(out, &record, sizeof record);
  out += sizeof record;
  for (int i = 0; i < record.values; ++i) {
    memcpy(out, &values[i].number, 8);
    out += 8;
    if (!values[i].text) continue;
    const uint32_t whole = stallprof_padded(values[i].number);
    if (whole) memset(out + whole - 8, 0, 8);
    memcpy(out, values[i].text, values[i].number);
    out += whole;
  }
  __atomic_store_n(&slot->head, head, __ATOMIC_RELEASE);
  return 1;
}

/* Stores an event of `kind` that thread `tid` made at `at` (CLOCK_MONOTONIC, ns), or counts it as
 * dropped. Asks first whether anybody reads. */
static inline void stallprof_writer_put(struct stallprof_event_writer* writer, uint16_t kind,
                                        uint64_t at, uint32_t tid,
                                        const struct stallprof_value* values, uint16_t count) {
  if (!stallprof_writer_is_open(writer)) return;
  struct stallprof_slot* slot = stallprof_writer_slot(writer);
  struct stallprof_record record;
  memset(&record, 0, sizeof record);
  record.kind = kind;
  record.values = count;
  record.tid = tid;
  record.at = at - (uint64_t)writer->clock_offset;
  if (slot && !stallprof_write_record(slot, record, values)) stallprof_writer_drop(writer);
}

#endif
