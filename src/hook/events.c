/* SPDX-License-Identifier: MIT
 *
 * _stallprof_events: the hook's only native part. It stores events in the event memory
 * (recording/event_memory.h is the contract) and reads the clocks that go into them. Nothing here
 * raises into the program, prints, locks, or keeps a descriptor; on any trouble it does nothing.
 * All functions run under the GIL: that is what makes a slot have one writer.
 * Limited API of CPython 3.8: one build serves 3.8 and later. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include "hook/events.h"

#include <Python.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hook/around.h"
#include "hook/batches.h"
#include "hook/jitted.h"
#include "recording/event_memory.h"

/* A full event memory is asked again for a slot only this often (puts). */
#define SLOT_RETRY 1024u

static struct stallprof_memory_header* memory; /* NULL: off */
static struct stallprof_slot* slot;            /* this process's; NULL: not claimed yet */
static uint32_t putsToSkip;
static __thread uint32_t threadId; /* gettid(), once asked */

/* The child of a fork shares the mapping but not its parent's slot. */
static void forgetSlot(void) {
  slot = NULL;
  putsToSkip = 0;
  threadId = 0;
}

uint64_t clockNs(clockid_t id) {
  struct timespec t;
  if (clock_gettime(id, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the event memory ------------------------------------------------------------------------ */

static struct stallprof_memory_header* mapMemory(const char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return NULL; /* never open a device by mistake */
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  struct stat status;
  void* at = MAP_FAILED;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      (uint64_t)status.st_size >= STALLPROF_MEMORY_BYTES)
    at = mmap(NULL, STALLPROF_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return NULL;
  struct stallprof_memory_header* m = at;
  if (m->magic == STALLPROF_MEMORY_MAGIC && m->version == STALLPROF_MEMORY_VERSION &&
      m->slots == STALLPROF_MEMORY_SLOTS && m->ring_bytes == STALLPROF_RING_BYTES && !m->closed)
    return m;
  munmap(at, STALLPROF_MEMORY_BYTES);
  return NULL;
}

/* Field 22 of /proc/self/stat: with the pid, one life. 0 when unknown. */
static uint64_t startTicks(void) {
  char text[1024];
  int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = 0;
  char* p = strrchr(text, ')'); /* the name before it may hold anything */
  for (int field = 2; p && field < 22; ++field) p = strchr(p + 1, ' ');
  return p ? strtoull(p + 1, NULL, 10) : 0;
}

static struct stallprof_slot* claimSlot(void) {
  struct stallprof_slot* slots = (struct stallprof_slot*)(memory + 1);
  uint32_t pid = (uint32_t)getpid();
  for (uint32_t i = 0; i < STALLPROF_MEMORY_SLOTS; ++i) {
    struct stallprof_slot* s = &slots[(pid + i) % STALLPROF_MEMORY_SLOTS];
    uint32_t none = 0;
    if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&s->owner, &none, pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      s->start_ticks = startTicks();
      return s;
    }
  }
  return NULL;
}

static int ready(void) {
  if (!memory || __atomic_load_n(&memory->closed, __ATOMIC_RELAXED)) return 0;
  if (slot) return 1;
  if (putsToSkip) return --putsToSkip, 0;
  slot = claimSlot();
  if (!slot) putsToSkip = SLOT_RETRY;
  return slot != NULL;
}

/* Room for `size` bytes in one piece, after a padding record where the ring's end is near.
 * NULL: no room. `*next` is the head once the record is written. */
static uint8_t* reserve(uint32_t size, uint64_t* next) {
  uint64_t head = slot->head; /* only we write it */
  uint64_t used = head - __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
  uint32_t at = (uint32_t)(head % STALLPROF_RING_BYTES), toEnd = STALLPROF_RING_BYTES - at;
  uint32_t padding = size > toEnd ? toEnd : 0;
  if (used > STALLPROF_RING_BYTES || (uint64_t)size + padding > STALLPROF_RING_BYTES - used)
    return NULL;
  if (padding) {
    /* Less than a header may be left: then only its first word, size and kind 0, is there. */
    struct stallprof_record pad = {.size = padding};
    memcpy(slot->data + at, &pad, padding < sizeof pad ? padding : sizeof pad);
    at = 0;
  }
  *next = head + padding + size;
  return slot->data + at;
}

/* ---- put -------------------------------------------------------------------------------- */

enum { kMaxValues = 24, kMaxTexts = 8 };

struct value {
  uint64_t number;     /* the integer, or the text's length */
  const char* text;    /* NULL: an integer */
  PyObject* keepsText; /* owned */
};

static int readText(PyObject* object, struct value* v) {
  PyObject* bytes = PyUnicode_Check(object)
                        ? PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace")
                        : (Py_INCREF(object), object);
  char* text;
  Py_ssize_t length;
  if (!bytes || PyBytes_AsStringAndSize(bytes, &text, &length) != 0) {
    Py_XDECREF(bytes);
    return 0;
  }
  v->keepsText = bytes;
  v->text = text;
  v->number = (uint64_t)length > STALLPROF_TEXT_LIMIT ? STALLPROF_TEXT_LIMIT : (uint64_t)length;
  return 1;
}

static int readValue(PyObject* object, struct value* v) {
  if (PyUnicode_Check(object) || PyBytes_Check(object)) return readText(object, v);
  v->number = PyLong_Check(object) ? PyLong_AsUnsignedLongLongMask(object) : 0;
  return 1;
}

static uint32_t padded(uint64_t bytes) { return (uint32_t)((bytes + 7) & ~(uint64_t)7); }

static void store(uint16_t kind, uint64_t at, const struct value* values, uint16_t count) {
  uint32_t size = sizeof(struct stallprof_record);
  for (uint16_t i = 0; i < count; ++i) size += 8 + (values[i].text ? padded(values[i].number) : 0);
  uint64_t next;
  uint8_t* out = reserve(size, &next);
  if (!out) {
    __atomic_store_n(&slot->dropped, slot->dropped + 1, __ATOMIC_RELAXED);
    return;
  }
  if (!threadId) threadId = (uint32_t)syscall(SYS_gettid);
  struct stallprof_record record = {size, kind, count, threadId, 0, at};
  memcpy(out, &record, sizeof record);
  out += sizeof record;
  for (uint16_t i = 0; i < count; ++i) {
    memcpy(out, &values[i].number, 8);
    out += 8;
    if (!values[i].text) continue;
    uint32_t whole = padded(values[i].number);
    if (whole) memset(out + whole - 8, 0, 8);
    memcpy(out, values[i].text, values[i].number);
    out += whole;
  }
  __atomic_store_n(&slot->head, next, __ATOMIC_RELEASE);
}

void putNumbers(uint16_t kind, uint64_t at, const uint64_t* numbers, uint16_t count) {
  if (count > kMaxValues || !ready()) return;
  struct value values[kMaxValues];
  for (uint16_t i = 0; i < count; ++i) values[i] = (struct value){numbers[i], NULL, NULL};
  store(kind, at, values, count);
}

/* put(kind, at, *values): integers and texts, in the order of the event's fields. */
static PyObject* put(PyObject* self, PyObject* args) {
  (void)self;
  Py_ssize_t count = PyTuple_Size(args) - 2;
  if (count < 0 || count > kMaxValues || !ready()) Py_RETURN_NONE;
  struct value values[kMaxValues];
  memset(values, 0, sizeof values);
  int good = 1;
  for (Py_ssize_t i = 0; good && i < count; ++i)
    good = readValue(PyTuple_GetItem(args, i + 2), &values[i]);
  uint64_t kind = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(args, 0));
  uint64_t at = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(args, 1));
  if (good && !PyErr_Occurred()) store((uint16_t)kind, at, values, (uint16_t)count);
  PyErr_Clear();
  for (Py_ssize_t i = 0; i < count; ++i) Py_XDECREF(values[i].keepsText);
  Py_RETURN_NONE;
}

/* open(path): whether events have somewhere to go. */
static PyObject* openMemory(PyObject* self, PyObject* path) {
  (void)self;
  struct value v;
  if (!memory && PyUnicode_Check(path)) {
    if (readText(path, &v)) {
      memory = mapMemory(v.text);
      Py_DECREF(v.keepsText);
    }
    PyErr_Clear();
    if (memory && pthread_atfork(NULL, NULL, forgetSlot) != 0) {
      munmap(memory, STALLPROF_MEMORY_BYTES);
      memory = NULL;
    }
  }
  return PyBool_FromLong(memory != NULL);
}

/* ---- clocks ----------------------------------------------------------------------------- */

static PyObject* now(PyObject* self, PyObject* none) {
  (void)self, (void)none;
  return PyLong_FromUnsignedLongLong(clockNs(CLOCK_MONOTONIC));
}

/* (CLOCK_MONOTONIC, this thread's CPU), ns. */
static PyObject* stamp(PyObject* self, PyObject* none) {
  (void)self, (void)none;
  uint64_t at = clockNs(CLOCK_MONOTONIC);
  return Py_BuildValue("KK", (unsigned long long)at,
                       (unsigned long long)clockNs(CLOCK_THREAD_CPUTIME_ID));
}

/* The CPU clock of a thread of this process: the kernel's encoding (posix-timers_types.h), which
 * pthread_getcpuclockid also gives; by tid, so no pthread_t has to be found. */
clockid_t threadClock(long tid) { return (clockid_t)((~(clockid_t)tid << 3) | 6); }

/* mix(*values): a 64-bit key equal in every process that mixes the same (FNV-1a). */
static PyObject* mix(PyObject* self, PyObject* args) {
  (void)self;
  uint64_t key = 14695981039346656037u;
  for (Py_ssize_t i = 0; i < PyTuple_Size(args); ++i) {
    struct value v = {0, NULL, NULL};
    if (!readValue(PyTuple_GetItem(args, i), &v)) PyErr_Clear();
    const unsigned char* bytes = v.text ? (const unsigned char*)v.text : (unsigned char*)&v.number;
    for (uint64_t b = 0, n = v.text ? v.number : 8; b < n; ++b)
      key = (key ^ bytes[b]) * 1099511628211u;
    Py_XDECREF(v.keepsText);
  }
  return PyLong_FromUnsignedLongLong(key);
}

static PyMethodDef methods[] = {
    {"open", openMemory, METH_O, "open(path): map the event memory; whether it is there"},
    {"put", put, METH_VARARGS, "put(kind, at, *values): store one event"},
    {"now", now, METH_NOARGS, "CLOCK_MONOTONIC, ns"},
    {"stamp", stamp, METH_NOARGS, "(monotonic, thread CPU), ns"},
    {"mix", mix, METH_VARARGS, "mix(*values): 64-bit key of integers and texts"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {.m_base = PyModuleDef_HEAD_INIT,
                                    .m_name = "_stallprof_events",
                                    .m_size = -1,
                                    .m_methods = methods};

/* Single-phase: an interpreter with a GIL of its own refuses it, as it must. */
PyMODINIT_FUNC PyInit__stallprof_events(void) {
  PyObject* m = PyModule_Create(&module);
  if (m && (addAround(m) != 0 || addPass(m) != 0 || addTasks(m) != 0 || addJitted(m) != 0)) {
    Py_DECREF(m);
    return NULL;
  }
  return m;
}
