/* SPDX-License-Identifier: MIT */
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "event/kinds.h"
#include "hook/batches.h"
#include "hook/events.h"
#include "hook/fetch_clock.h"

typedef struct {
  PyObject_HEAD unsigned int loader, number;
  char anyOrder, iterable;
  long long last;   /* index that came out of the data queue last */
  PyObject* owners; /* index of a batch on its way -> worker; empty with no workers, not NULL */
  PyObject*
      countFree;      /* what counts the data queue; with `capacity`, its free places; NULL: none */
  long long capacity; /* of the queue; -1: not known */
  struct fetchCpu used; /* of the batches so far */
  struct fetch fetch;   /* the next() under way */
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

/* No worker does: next() itself makes the batch. */
static int madeHere(const Epoch* self) { return !self->countFree; }

static PyObject* nextBegins(PyObject* owner, PyObject* args, PyObject* kwargs) {
  (void)owner;
  (void)kwargs;
  PyObject* dictionary = dictionaryOf(argumentOf(args, 0));
  Epoch* self = epochOf(dictionary);
  if (!self) {
    Py_XDECREF(dictionary);
    return NULL;
  }
  const int here = madeHere(self);
  self->ready = here ? -1 : readyOf(self, dictionary);
  Py_INCREF((PyObject*)self);
  Py_DECREF(dictionary);
  self->fetch = fetchBegins(&self->used, here);
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

static int nextDone(PyObject* token, PyObject* args, PyObject* result) {
  Epoch* self = (Epoch*)token;
  const int succeeded = result != NULL;
  const struct fetched used = fetchEnds(&self->used, &self->fetch, succeeded);
  PyObject* dictionary = dictionaryOf(argumentOf(args, 0));
  long long batch = -1, worker = -1;
  int64_t bytes = -1;
  if (succeeded && madeHere(self)) {
    batch = integer(dictionary, kYielded) - 1;
    if (used.read) bytes = batchBytes(result);
  } else if (succeeded) {
    batch = self->anyOrder ? self->last : integer(dictionary, kReceived) - 1;
    worker = takeOwner(self, batch);
  }
  Py_XDECREF(dictionary);
  PyErr_Clear();
  const uint64_t numbers[] = {
      self->loader,           self->number,     used.duration,         used.cpu,
      (uint64_t)batch,        (uint64_t)worker, (uint64_t)self->ready, !succeeded,
      (uint64_t)used.process, (uint64_t)bytes};
  putNumbers(STALLPROF_KIND_FETCH, used.at, numbers, sizeof numbers / sizeof *numbers, NULL);
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
  Py_XDECREF(((Epoch*)object)->owners);
  Py_XDECREF(((Epoch*)object)->countFree);
  freeObject(object);
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
