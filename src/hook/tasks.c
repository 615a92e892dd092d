/* SPDX-License-Identifier: MIT
 *
 * CPU of a batch is the process's, so that decoder pools count, less that of the threads that send
 * the batch before while this one is made: the queue's feeder and multiprocessing's resource
 * sharer. What other threads used is read at a batch's end, since they have nothing to do between
 * batches. Faults, reads and other threads' CPU of batches that were not read are reported with the
 * next one that is: sums are exact but for what is left unread when the worker ends. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <sys/resource.h>

#include "event/kinds.h"
#include "hook/batches.h"
#include "hook/events.h"
#include "hook/share.h"

/* For the senders: they start with the first batches, and some never do. */
enum { kSearches = 8, kSenders = 2 };

/* A read of a CPU clock is a system call, cold after a fetch: it costs more than all else here. So
 * clocks and the batch's size are read for a fetch that begins this long after the last reading, or
 * lasts longer; else its CPU is estimated by the share of its duration that those read were on a
 * CPU. The period varies, or it could beat with the data's own. */
enum { kPeriodNs = 1500000, kPeriodSpread = 0xfffff /* mask: 1.05 ms */ };

struct reading {
  uint64_t thread; /* CPU; 0: not read */
  int64_t rest;    /* CPU of all threads but this one and the senders */
  long faults, reads;
};

typedef struct {
  PyObject_HEAD PyObject *senders, *resumed;
  PyObject* index; /* in hand, from its arrival to its batch's handing over; NULL: none */
  uint64_t key;
  long long worker;
  int searches;
  long tids[kSenders];
  uint64_t waiting; /* when the wait for an index began, timeouts or not; 0: not yet */
  uint64_t begun, begunCpu, made; /* the index's arrival, and its batch's; begunCpu 0: not read */
  uint64_t due;                   /* a fetch that begins later is read */
  uint64_t estimated;             /* CPU estimated by share since `last` */
  struct share cpu;               /* of the durations of fetches that were read */
  struct reading last, now;       /* at the ends of the last fetch read and, if read, of this one */
} Tasks;

/* What is not of this thread's time alone: three to four system calls. */
static void readRest(struct reading* r, uint64_t thread, const long* tids) {
  r->thread = thread;
  r->rest = (int64_t)(clockNs(CLOCK_PROCESS_CPUTIME_ID) - thread);
  for (int i = 0; i < kSenders; ++i)
    if (tids[i] > 0) r->rest -= (int64_t)clockNs(threadClock(tids[i]));
  struct rusage usage = {.ru_majflt = 0};
  getrusage(RUSAGE_THREAD, &usage);
  r->faults = usage.ru_majflt;
  r->reads = usage.ru_inblock;
}

static void setIndex(Tasks* self, PyObject* index) {
  PyObject* old = self->index;
  Py_XINCREF(index);
  self->index = index;
  Py_XDECREF(old);
}

/* ---- get ---------------------------------------------------------------------------------- */

/* Later waits begin when the batch before has been handed over. */
static PyObject* getBegins(PyObject* object, PyObject* args, PyObject* kwargs) {
  (void)args;
  (void)kwargs;
  Tasks* self = (Tasks*)object;
  if (!self->waiting) self->waiting = clockNs(CLOCK_MONOTONIC);
  Py_INCREF(object);
  return object;
}

/* An index that a worker at its data's end was still sent is never answered: no batch. */
static int resume(Tasks* self, PyObject* message) {
  setIndex(self, NULL);
  self->waiting = clockNs(CLOCK_MONOTONIC);
  PyObject* key = PyObject_CallFunctionObjArgs(self->resumed, message, NULL);
  if (!key) return -1;
  if (PyLong_Check(key)) self->key = PyLong_AsUnsignedLongLongMask(key);
  Py_DECREF(key);
  return 0;
}

static int got(PyObject* object, PyObject* args, PyObject* task) {
  (void)args;
  Tasks* self = (Tasks*)object;
  if (!task || task == Py_None) return 0;
  if (!PyTuple_CheckExact(task)) return resume(self, task);
  if (PyTuple_Size(task) < 1) return 0;
  setIndex(self, PyTuple_GetItem(task, 0));
  self->begun = clockNs(CLOCK_MONOTONIC);
  self->begunCpu = self->begun >= self->due ? clockNs(CLOCK_THREAD_CPUTIME_ID) : 0;
  if (!self->last.thread) readRest(&self->last, self->begunCpu, self->tids);
  return 0;
}

/* ---- put ---------------------------------------------------------------------------------- */

static void findSenders(Tasks* self) {
  --self->searches;
  PyObject* tids = PyObject_CallObject(self->senders, NULL);
  for (int i = 0; tids && PyTuple_Check(tids) && i < kSenders && i < PyTuple_Size(tids); ++i)
    self->tids[i] = PyLong_AsLong(PyTuple_GetItem(tids, i));
  Py_XDECREF(tids);
}

/* What is put answers the index in hand, or is none of our business. */
static int answersIndex(Tasks* self, PyObject* args) {
  PyObject* item = args ? argumentOf(args, 0) : NULL;
  return self->index && item && PyTuple_CheckExact(item) && PyTuple_Size(item) == 2 &&
         PyTuple_GetItem(item, 0) == self->index;
}

static PyObject* putBegins(PyObject* object, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  Tasks* self = (Tasks*)object;
  if (!answersIndex(self, args)) return NULL;
  if (self->searches) findSenders(self);
  if (PyErr_Occurred()) return NULL;
  self->made = clockNs(CLOCK_MONOTONIC);
  self->now.thread = 0;
  if (self->begunCpu || self->made - self->begun >= kPeriodNs)
    readRest(&self->now, clockNs(CLOCK_THREAD_CPUTIME_ID), self->tids);
  Py_INCREF(object);
  return object;
}

/* This thread's CPU in the fetch. */
static uint64_t fetchCpu(Tasks* self) {
  const uint64_t duration = self->made - self->begun;
  if (!self->now.thread) {
    const uint64_t cpu = partOf(&self->cpu, duration);
    self->estimated += cpu;
    return cpu;
  }
  uint64_t cpu = cpuWithin(self->now.thread - self->begunCpu, duration);
  if (self->begunCpu) {
    if (duration < kPeriodNs) addToShare(&self->cpu, cpu, duration); /* longer ones are all read */
  } else { /* longer than was foreseen: what was used since the last reading and not yet reported */
    cpu = self->now.thread - self->last.thread;
    cpu = cpuWithin(cpu > self->estimated ? cpu - self->estimated : 0, duration);
  }
  self->estimated = 0;
  return cpu;
}

static int putDone(PyObject* object, PyObject* args, PyObject* result) {
  (void)result;
  Tasks* self = (Tasks*)object;
  const uint64_t end = clockNs(CLOCK_MONOTONIC), at = self->waiting;
  if (!answersIndex(self, args)) return 0;
  const int read = self->now.thread != 0;
  const struct reading *last = &self->last, *now = read ? &self->now : last;
  const uint64_t cpu = fetchCpu(self);
  const int64_t pool = now->rest - last->rest;
  PyObject* batch = PyTuple_GetItem(PyTuple_GetItem(args, 0), 1);
  const uint64_t numbers[] = {self->key,
                              (uint64_t)self->worker,
                              PyLong_AsUnsignedLongLongMask(self->index),
                              self->begun - at,
                              self->made - at,
                              end - at,
                              cpu,
                              cpu + (pool > 0 ? (uint64_t)pool : 0),
                              (uint64_t)(read ? batchBytes(batch) : -1),
                              (uint64_t)(now->faults - last->faults),
                              (uint64_t)(now->reads - last->reads)};
  if (!PyErr_Occurred()) /* an index that is no integer: not torch's */
    putNumbers(STALLPROF_KIND_WORKER_TASK, at, numbers, sizeof numbers / sizeof *numbers, NULL);
  PyErr_Clear();
  setIndex(self, NULL);
  self->waiting = end;
  if (read) {
    self->last = self->now;
    if (self->cpu.whole > 0) self->due = self->made + kPeriodNs + (self->made & kPeriodSpread);
  }
  return 0;
}

/* ---- the type ----------------------------------------------------------------------------- */

static PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  unsigned long long key;
  long long worker;
  PyObject *senders, *resumed;
  if (!PyArg_ParseTuple(args, "KLOO", &key, &worker, &senders, &resumed)) return NULL;
  Tasks* self = (Tasks*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (!self) return NULL;
  self->key = key;
  self->worker = worker;
  self->senders = (Py_INCREF(senders), senders);
  self->resumed = (Py_INCREF(resumed), resumed);
  self->searches = kSearches;
  return (PyObject*)self;
}

static void drop(PyObject* object) {
  Tasks* self = (Tasks*)object;
  Py_XDECREF(self->senders);
  Py_XDECREF(self->resumed);
  Py_XDECREF(self->index);
  freeObject(object);
}

static const struct aroundCalls get = {getBegins, got}, put = {putBegins, putDone};

static PyObject* aroundGet(PyObject* self, PyObject* original) {
  return newAround(original, self, &get);
}

static PyObject* aroundPut(PyObject* self, PyObject* original) {
  return newAround(original, self, &put);
}

static PyMethodDef methods[] = {{"around_get", aroundGet, METH_O, NULL},
                                {"around_put", aroundPut, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, make}, {Py_tp_dealloc, drop}, {Py_tp_methods, methods}, {0, NULL}};

static PyType_Spec spec = {.name = "_stallprof_events.Tasks",
                           .basicsize = sizeof(Tasks),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

int addTasks(PyObject* module) {
  PyObject* type = PyType_FromSpec(&spec);
  return type ? PyModule_AddObject(module, "Tasks", type) : -1;
}
