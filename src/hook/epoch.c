/* SPDX-License-Identifier: MIT */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "event/kinds.h"
#include "hook/batches.h"
#include "hook/events.h"

/* With no workers a batch's CPU is the process's, so that decoder pools count. Its clock costs as
 * much as a small batch, and so do its tensors' sizes: while fetches are shorter than a millisecond
 * and all but their thread's CPU has been next to nothing thrice in a row, they are read with every
 * 16th. Thrice: of a thread that is still running the process's clock lacks up to a tick. */
enum { kShortNs = 1000000, kNothingNs = 4000, kMinAlone = 3, kMaxUnread = 16 };

typedef struct {
  PyObject_HEAD unsigned int loader, number;
  char anyOrder, iterable;
  long long last;            /* index that came out of the data queue last */
  PyObject* owners;          /* index of a batch on its way -> worker; NULL: no workers */
  PyObject* countFree;       /* what counts the data queue; with `capacity`, its free places */
  long long capacity;        /* of the queue; -1: not known */
  uint64_t at, cpu, process; /* when the next() under way began; process 0: not read */
  unsigned alone, unread; /* batches known in a row on which no other thread worked; since then */
  int64_t ready;
} Epoch;

static PyTypeObject* epochType;

/* Names of a torch iterator's attributes, and ours; interned once. */
enum name { kState, kTaskInfo, kOutstanding, kReceived, kYielded, kSent, kNames };
static const char* const spellings[kNames] = {"_stallprof", "_task_info",   "_tasks_outstanding",
                                              "_rcvd_idx",  "_num_yielded", "_send_idx"};
static PyObject* names[kNames];

/* An instance attribute (borrowed) from the instance's own dictionary: no __getattr__ runs. */
static PyObject* attribute(PyObject* dictionary, enum name name) {
  return dictionary ? PyDict_GetItem(dictionary, names[name]) : NULL;
}

static long long integer(PyObject* dictionary, enum name name) {
  PyObject* value = attribute(dictionary, name);
  return value && PyLong_Check(value) ? PyLong_AsLongLong(value) : 0;
}

/* The instance's dictionary, owned; NULL, no error set: it has none. */
static PyObject* dictionaryOf(PyObject* iterator) {
  PyObject* dictionary = iterator ? PyObject_GetAttrString(iterator, "__dict__") : NULL;
  if (dictionary && PyDict_Check(dictionary)) return dictionary;
  Py_XDECREF(dictionary);
  PyErr_Clear();
  return NULL;
}

static Epoch* epochOf(PyObject* dictionary) {
  PyObject* state = attribute(dictionary, kState);
  return state && PyObject_TypeCheck(state, epochType) ? (Epoch*)state : NULL;
}

/* ---- how many batches have arrived ------------------------------------------------------ */

static long long inQueue(Epoch* self) {
  PyObject* answer = PyObject_CallObject(self->countFree, NULL);
  long long count = answer ? PyLong_AsLongLong(answer) : 0;
  Py_XDECREF(answer);
  PyErr_Clear();
  return self->capacity < 0 ? count : self->capacity - count;
}

/* Batches that have been received but wait for their turn. */
static long long inHand(Epoch* self, PyObject* dictionary) {
  PyObject* tasks = attribute(dictionary, kTaskInfo);
  if (!tasks || !PyDict_Check(tasks)) return 0;
  long long count = PyDict_Size(tasks) - integer(dictionary, kOutstanding);
  if (!count || !self->iterable) return count;
  /* An ended worker's last task is no batch: count those that hold their data. */
  Py_ssize_t at = 0;
  PyObject* info;
  count = 0;
  while (PyDict_Next(tasks, &at, NULL, &info))
    count += PyTuple_Check(info) && PyTuple_Size(info) == 2;
  return count;
}

/* -1: not known. */
static int64_t readyOf(Epoch* self, PyObject* dictionary) {
  const int64_t ready = inHand(self, dictionary) + inQueue(self);
  return ready < 0 ? -1 : ready;
}

/* ---- next() ----------------------------------------------------------------------------- */

/* Reading a CPU clock makes the kernel count the time slice, and take the CPU where that has ended:
   on full CPUs a thread loses it there more often than elsewhere. A batch that is made here has the
   time without a CPU at its end, which follows what used up the slice, and not the one before it:
   the CPU is read first. One that is waited for is waited for meanwhile: the time is read first. */
static void readClocks(const Epoch* self, uint64_t* at, uint64_t* cpu, uint64_t* process) {
  const uint64_t first = clockNs(self->owners ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
  if (process) *process = clockNs(CLOCK_PROCESS_CPUTIME_ID); /* no less than the thread's */
  const uint64_t last = clockNs(self->owners ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
  *at = self->owners ? first : last;
  *cpu = self->owners ? last : first;
}

static PyObject* nextBegins(PyObject* owner, PyObject* args, PyObject* kwargs) {
  (void)owner;
  (void)kwargs;
  PyObject* dictionary = dictionaryOf(argumentOf(args, 0));
  Epoch* self = epochOf(dictionary);
  if (!self) {
    Py_XDECREF(dictionary);
    return NULL;
  }
  self->ready = -1;
  self->process = 0;
  if (self->countFree)
    self->ready = readyOf(self, dictionary);
  else if (self->alone < kMinAlone || ++self->unread >= kMaxUnread)
    self->process = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  Py_INCREF((PyObject*)self);
  Py_DECREF(dictionary);
  readClocks(self, &self->at, &self->cpu, NULL);
  return (PyObject*)self;
}

/* Takes the worker that owed the batch out of `owners`; -1: not known. */
static long long takeOwner(Epoch* self, long long batch) {
  PyObject* key = PyLong_FromLongLong(batch);
  PyObject* owner = key && self->owners ? PyDict_GetItem(self->owners, key) : NULL;
  long long worker = owner ? PyLong_AsLongLong(owner) : -1;
  if (owner) PyDict_DelItem(self->owners, key);
  Py_XDECREF(key);
  PyErr_Clear();
  return worker;
}

/* The process's CPU since the call began, which it had `at` its end; -1: not read. */
static int64_t processCpu(Epoch* self, uint64_t at, uint64_t duration, uint64_t cpu) {
  int64_t used = -1;
  if (self->process) {
    used = (int64_t)(at - self->process);
    const int alone = used - (int64_t)cpu <= (int64_t)(cpu / 8) + kNothingNs;
    self->alone = alone ? self->alone + 1 : 0;
    self->unread = 0;
  }
  if (duration >= kShortNs) self->alone = 0;
  return used;
}

static int nextDone(PyObject* token, PyObject* args, PyObject* result) {
  Epoch* self = (Epoch*)token;
  uint64_t end, endCpu, endProcess = 0;
  readClocks(self, &end, &endCpu, self->process ? &endProcess : NULL);
  const uint64_t duration = end - self->at, cpu = endCpu - self->cpu;
  PyObject* dictionary = dictionaryOf(argumentOf(args, 0));
  int succeeded = result != NULL;
  long long batch = -1, worker = -1;
  int64_t process = -1, bytes = -1;
  if (!self->countFree) {
    process = processCpu(self, endProcess, duration, cpu);
    if (succeeded) {
      batch = integer(dictionary, kYielded) - 1;
      if (self->process) bytes = batchBytes(result);
    }
  } else if (succeeded) {
    batch = self->anyOrder ? self->last : integer(dictionary, kReceived) - 1;
    worker = takeOwner(self, batch);
  }
  Py_XDECREF(dictionary);
  PyErr_Clear();
  const uint64_t numbers[] = {self->loader,
                              self->number,
                              duration,
                              cpuWithin(cpu, duration),
                              (uint64_t)batch,
                              (uint64_t)worker,
                              (uint64_t)self->ready,
                              !succeeded,
                              (uint64_t)process,
                              (uint64_t)bytes};
  putNumbers(STALLPROF_KIND_FETCH, self->at, numbers, sizeof numbers / sizeof *numbers);
  return 0;
}

/* ---- who makes it, and what came ---------------------------------------------------------- */

static int indexPut(PyObject* iterator, PyObject* args, PyObject* result) {
  (void)args;
  (void)result;
  PyObject* dictionary = dictionaryOf(iterator);
  Epoch* self = epochOf(dictionary);
  PyObject* tasks = attribute(dictionary, kTaskInfo);
  PyObject* index = PyLong_FromLongLong(integer(dictionary, kSent) - 1);
  PyObject* info = index && tasks && PyDict_Check(tasks) ? PyDict_GetItem(tasks, index) : NULL;
  if (self && self->owners && info && PyTuple_Check(info) && PyTuple_Size(info) > 0)
    PyDict_SetItem(self->owners, index, PyTuple_GetItem(info, 0));
  Py_XDECREF(index);
  Py_XDECREF(dictionary);
  PyErr_Clear();
  return 0;
}

/* With in_order=False any index may be delivered: the one got last is. */
static int dataGot(PyObject* iterator, PyObject* args, PyObject* result) {
  (void)args;
  PyObject* dictionary = dictionaryOf(iterator);
  Epoch* self = epochOf(dictionary);
  PyObject* index = result && PyTuple_Check(result) ? argumentOf(result, 0) : NULL;
  if (self && index && PyLong_Check(index)) self->last = PyLong_AsLongLong(index);
  Py_XDECREF(dictionary);
  PyErr_Clear();
  return 0;
}

/* ---- the type ----------------------------------------------------------------------------- */

static void drop(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(((Epoch*)object)->owners);
  Py_XDECREF(((Epoch*)object)->countFree);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMemberDef members[] = {{"loader", T_UINT, offsetof(Epoch, loader), 0, NULL},
                                {"number", T_UINT, offsetof(Epoch, number), 0, NULL},
                                {"any_order", T_BOOL, offsetof(Epoch, anyOrder), 0, NULL},
                                {"iterable", T_BOOL, offsetof(Epoch, iterable), 0, NULL},
                                {"last", T_LONGLONG, offsetof(Epoch, last), 0, NULL},
                                {"owners", T_OBJECT, offsetof(Epoch, owners), 0, NULL},
                                {"count_free", T_OBJECT, offsetof(Epoch, countFree), 0, NULL},
                                {"capacity", T_LONGLONG, offsetof(Epoch, capacity), 0, NULL},
                                {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, drop}, {Py_tp_members, members}, {0, NULL}};

static PyType_Spec spec = {.name = "_stallprof_events.Epoch",
                           .basicsize = sizeof(Epoch),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           .slots = slots};

static const struct aroundCalls next = {nextBegins, nextDone}, putIndex = {NULL, indexPut},
                                getData = {NULL, dataGot};

static PyObject* aroundNext(PyObject* module, PyObject* original) {
  (void)module;
  return newAround(original, NULL, &next);
}

static PyObject* aroundPutIndex(PyObject* module, PyObject* original) {
  (void)module;
  return newAround(original, NULL, &putIndex);
}

static PyObject* aroundGetData(PyObject* module, PyObject* original) {
  (void)module;
  return newAround(original, NULL, &getData);
}

static PyMethodDef functions[] = {{"around_next", aroundNext, METH_O, NULL},
                                  {"around_put_index", aroundPutIndex, METH_O, NULL},
                                  {"around_get_data", aroundGetData, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

int addEpoch(PyObject* module) {
  for (int i = 0; i < kNames; ++i)
    if (!(names[i] = PyUnicode_InternFromString(spellings[i]))) return -1;
  epochType = (PyTypeObject*)PyType_FromSpec(&spec);
  if (!epochType) return -1;
  Py_INCREF((PyObject*)epochType);
  if (PyModule_AddObject(module, "Epoch", (PyObject*)epochType) != 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
