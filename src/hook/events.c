/* SPDX-License-Identifier: MIT
 *
 * _stallprof_events: the hook's only native part. It stores events in the event memory
 * (recording/memory/event_memory.h is the contract) and reads the clocks that go into them. Nothing
 * here raises into the program, prints, locks, or keeps a descriptor; on trouble it does nothing.
 * All functions run under the GIL: that is what makes a slot have one writer.
 * Limited API of CPython 3.8: one build serves 3.8 and later. */
#include "hook/events.h"

#include <Python.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "event/kinds.h"
#include "hook/around.h"
#include "hook/batches.h"
#include "hook/fetch_clock.h"
#include "hook/jitted.h"
#include "hook/loops.h"
#include "recording/memory/event_memory.h"

static struct stallprof_event_writer writer;
static __thread uint32_t threadId; /* as the recorder has it, once asked */
static long recorder;              /* its pid, once it is permitted to read; else 0 */

static void letRecorderRead(void) {
  if (recorder > 0) (void)prctl(PR_SET_PTRACER, (unsigned long)recorder, 0ul, 0ul, 0ul);
}

/* The memory's path is /proc/PID/fd/N, PID as it is numbered where /proc is of: that is here, if
 * our own number is the same. */
static long recorderOf(const char* path) {
  char self[24] = "";
  if (strncmp(path, "/proc/", 6) != 0) return 0;
  if (readlink("/proc/self", self, sizeof self - 1) <= 0) return 0;
  return atol(self) == (long)getpid() ? atol(path + 6) : 0;
}

/* The child of a fork shares the mapping but not its parent's slot. */
static void forgetSlot(void) {
  stallprof_writer_forget_slot(&writer);
  threadId = 0;
}

uint64_t clockNs(clockid_t id) {
  struct timespec t;
  if (clock_gettime(id, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- put -------------------------------------------------------------------------------- */

enum { kMaxValues = 24 };

/* Reads a str or bytes; `*keeps`, owned, keeps the text alive. */
static int readText(PyObject* object, struct stallprof_value* v, PyObject** keeps) {
  PyObject* bytes = PyUnicode_Check(object)
                        ? PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace")
                        : (Py_INCREF(object), object);
  char* text;
  Py_ssize_t length;
  if (!bytes || PyBytes_AsStringAndSize(bytes, &text, &length) != 0) {
    Py_XDECREF(bytes);
    return 0;
  }
  *keeps = bytes;
  v->text = text;
  v->number = (uint64_t)length > STALLPROF_TEXT_LIMIT ? STALLPROF_TEXT_LIMIT : (uint64_t)length;
  return 1;
}

static int readValue(PyObject* object, struct stallprof_value* v, PyObject** keeps) {
  if (PyUnicode_Check(object) || PyBytes_Check(object)) return readText(object, v, keeps);
  v->number = PyLong_Check(object) ? PyLong_AsUnsignedLongLongMask(object) : 0;
  v->text = NULL;
  return 1;
}

/* The thread that events of this one are of. PyTorch calls hooks of a backward pass on a GPU on a
 * thread of its own, for the one that asked for the pass and waits: the first, as a rule. */
static uint32_t actingThread(void) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  return strncmp(name, "pt_autograd", 11) == 0 ? stallprof_process_id() : stallprof_thread_id();
}

static void store(uint16_t kind, uint64_t at, const struct stallprof_value* values,
                  uint16_t count) {
  if (!threadId) threadId = actingThread();
  stallprof_writer_put(&writer, kind, at, threadId, values, count);
}

static struct stallprof_value textOf(const char* text) {
  const size_t length = strlen(text);
  return (struct stallprof_value){
      length > STALLPROF_TEXT_LIMIT ? STALLPROF_TEXT_LIMIT : (uint64_t)length, text};
}

void putNumbers(uint16_t kind, uint64_t at, const uint64_t* numbers, uint16_t count,
                const char* text) {
  if (count >= kMaxValues || !stallprof_writer_is_open(&writer)) return;
  struct stallprof_value values[kMaxValues];
  for (uint16_t i = 0; i < count; ++i) values[i] = (struct stallprof_value){numbers[i], NULL};
  if (text) values[count++] = textOf(text);
  store(kind, at, values, count);
}

void putSource(const char* source, const char* why) {
  enum { kPartial = 1 }; /* event/vocabulary.h, Coverage */
  if (!stallprof_writer_is_open(&writer)) return;
  const struct stallprof_value values[] = {textOf(source), {kPartial, NULL}, textOf(why)};
  store(STALLPROF_KIND_SOURCE_STATE, clockNs(CLOCK_MONOTONIC), values, 3);
}

/* put(kind, at, *values): integers and texts, in the order of the event's fields. */
static PyObject* put(PyObject* self, PyObject* args) {
  (void)self;
  Py_ssize_t count = PyTuple_Size(args) - 2;
  if (count < 0 || count > kMaxValues || !stallprof_writer_is_open(&writer)) Py_RETURN_NONE;
  struct stallprof_value values[kMaxValues];
  PyObject* keeps[kMaxValues];
  memset(keeps, 0, (size_t)count * sizeof *keeps);
  int good = 1;
  for (Py_ssize_t i = 0; good && i < count; ++i)
    good = readValue(PyTuple_GetItem(args, i + 2), &values[i], &keeps[i]);
  uint64_t kind = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(args, 0));
  uint64_t at = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(args, 1));
  if (good && !PyErr_Occurred()) store((uint16_t)kind, at, values, (uint16_t)count);
  PyErr_Clear();
  for (Py_ssize_t i = 0; i < count; ++i) Py_XDECREF(keeps[i]);
  Py_RETURN_NONE;
}

/* permit(path): where Yama's scope is 1, as on Ubuntu, a process lets nobody but its parents read
 * its memory, which is where Python's stacks are, but for one that it names: the recorder, which
 * made `path`. Each process does so for itself, a forked one too. */
static PyObject* permit(PyObject* self, PyObject* path) {
  (void)self;
  struct stallprof_value v;
  PyObject* keeps = NULL;
  if (recorder == 0 && PyUnicode_Check(path) && readText(path, &v, &keeps)) {
    const long found = recorderOf(v.text);
    if (found > 0 && pthread_atfork(NULL, NULL, letRecorderRead) == 0) recorder = found;
    letRecorderRead();
    Py_DECREF(keeps);
  }
  PyErr_Clear();
  Py_RETURN_NONE;
}

/* open(path): whether events have somewhere to go. */
static PyObject* openMemory(PyObject* self, PyObject* path) {
  (void)self;
  struct stallprof_value v;
  PyObject* keeps = NULL;
  if (!writer.memory && PyUnicode_Check(path)) {
    if (readText(path, &v, &keeps)) {
      (void)stallprof_writer_open(&writer, v.text);
      Py_DECREF(keeps);
    }
    PyErr_Clear();
    if (writer.memory && pthread_atfork(NULL, NULL, forgetSlot) != 0) {
      munmap(writer.memory, STALLPROF_MEMORY_BYTES);
      writer.memory = NULL;
    }
  }
  return PyBool_FromLong(writer.memory != NULL);
}

/* ---- clocks ----------------------------------------------------------------------------- */

static PyObject* now(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  return PyLong_FromUnsignedLongLong(clockNs(CLOCK_MONOTONIC));
}

/* (CLOCK_MONOTONIC, this thread's CPU), ns. */
static PyObject* stamp(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
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
    struct stallprof_value v = {0, NULL};
    PyObject* keeps = NULL;
    if (!readValue(PyTuple_GetItem(args, i), &v, &keeps)) PyErr_Clear();
    const unsigned char* bytes = v.text ? (const unsigned char*)v.text : (unsigned char*)&v.number;
    for (uint64_t b = 0, n = v.text ? v.number : 8; b < n; ++b)
      key = (key ^ bytes[b]) * 1099511628211u;
    Py_XDECREF(keeps);
  }
  return PyLong_FromUnsignedLongLong(key);
}

static PyMethodDef methods[] = {
    {"open", openMemory, METH_O, "open(path): map the event memory; whether it is there"},
    {"permit", permit, METH_O, "permit(path): let the recorder read this process's memory"},
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
  if (m && (addAround(m) != 0 || addEpoch(m) != 0 || addFetchClock(m) != 0 || addTasks(m) != 0 ||
            addSamples(m) != 0 || addJitted(m) != 0 || addLoops(m) != 0)) {
    Py_DECREF(m);
    return NULL;
  }
  return m;
}
