/* SPDX-License-Identifier: MIT
 *
 * How long each sample of a batch takes. torch's fetcher makes [dataset[i] for i in indices]: it
 * gets an object that gives the same indices and reads the clock as each is asked for. Nothing of
 * the data set is wrapped, and a sample costs one reading of a clock (0.05 us).
 *
 * Samples are slow from kTimes the median on, and from kFloorNs: below it nothing is worth an
 * event. The median is followed by steps of 5 % up or down, which settle where as many samples are
 * above as below. Until enough were seen a batch's times are kept, and compared when it is whole,
 * the first with its own median. A data set's first sample in a process opens and imports what the
 * others find done: it is never called slow. */
#include <stdlib.h>

#include "hook/batches.h"
#include "hook/events.h"

/* kLearned: samples; kKept: of a batch. */
enum { kTimes = 5, kFloorNs = 1000000, kLearned = 64, kKept = 1024 };

typedef struct {
  PyObject_HEAD PyObject* report;
  double median; /* ns; 0: no sample yet */
  uint64_t samples;
} SampleTimes;

/* One batch's indices. */
typedef struct {
  PyObject_HEAD PyObject* indices;
  SampleTimes* times;
  Py_ssize_t next;
  uint64_t begun; /* of the sample in hand */
  Py_ssize_t slow, slowest;
  uint64_t slowestAt, slowestNs, excess; /* excess: of all slow ones, beyond the median */
  Py_ssize_t kept;                       /* room in `begins`, less one */
  uint64_t* begins; /* while the median is learned: when each began, and the last ended; or NULL */
} Samples;

static PyTypeObject* samplesType;
static PyObject* stateName;

/* ---- one batch ---------------------------------------------------------------------------- */

static void compare(Samples* self, Py_ssize_t place, uint64_t begun, uint64_t duration) {
  const double median = self->times->median;
  if (duration < kFloorNs || (double)duration <= kTimes * median) return;
  ++self->slow;
  self->excess += duration - (uint64_t)median;
  if (duration <= self->slowestNs) return;
  self->slowest = place;
  self->slowestAt = begun;
  self->slowestNs = duration;
}

static void follow(SampleTimes* times, uint64_t duration) {
  if (!times->samples++ && times->median == 0) times->median = (double)duration;
  times->median *= (double)duration > times->median ? 1.05 : 0.95;
  if (times->median < 1) times->median = 1;
}

static int ascending(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

/* The median of a batch's samples; 0: none, or no memory. */
static double medianOf(const uint64_t* begins, size_t count) {
  uint64_t* sorted = count ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) return 0;
  for (size_t i = 0; i < count; ++i) sorted[i] = begins[i + 1] - begins[i];
  qsort(sorted, count, sizeof *sorted, ascending);
  const double median = (double)sorted[count / 2];
  free(sorted);
  return median;
}

/* The batch is whole, and all of its times were kept. */
static void learn(Samples* self) {
  SampleTimes* times = self->times;
  const uint64_t* begins = self->begins;
  const Py_ssize_t first = times->samples == 0;
  if (first) times->median = medianOf(begins, (size_t)self->next);
  for (Py_ssize_t i = first; i < self->next && times->median > 0; ++i)
    compare(self, i, begins[i], begins[i + 1] - begins[i]);
  for (Py_ssize_t i = 0; i < self->next; ++i) follow(times, begins[i + 1] - begins[i]);
}

static void ended(Samples* self, uint64_t now) {
  SampleTimes* times = self->times;
  if (self->begins) {
    if (self->next <= self->kept) self->begins[self->next] = now;
    return;
  }
  if (!self->begun) return;
  if (times->samples >= kLearned) compare(self, self->next - 1, self->begun, now - self->begun);
  follow(times, now - self->begun);
}

/* 0; -1 with an error that is not ours. */
static int report(Samples* self) {
  PyObject* index = PyList_GetItem(self->indices, self->slowest);
  PyObject* done =
      index
          ? PyObject_CallFunction(
                self->times->report, "KKOnnKK", (unsigned long long)self->slowestAt,
                (unsigned long long)self->slowestNs, index, PyList_Size(self->indices), self->slow,
                (unsigned long long)self->times->median, (unsigned long long)self->excess)
          : NULL;
  Py_XDECREF(done);
  return done || droppedOurError() ? 0 : -1;
}

static PyObject* nextIndex(PyObject* object) {
  Samples* self = (Samples*)object;
  const uint64_t now = clockNs(CLOCK_MONOTONIC);
  ended(self, now);
  self->begun = 0;
  if (self->next >= PyList_Size(self->indices)) {
    if (self->begins && self->next == self->kept) learn(self);
    if (self->slow && report(self) != 0) return NULL;
    self->slow = 0;
    return NULL; /* the end */
  }
  PyObject* index = PyList_GetItem(self->indices, self->next++);
  Py_XINCREF(index);
  self->begun = now;
  return index;
}

static PyObject* iterate(PyObject* object) {
  Samples* self = (Samples*)object;
  self->next = self->slow = 0;
  self->begun = self->slowestNs = self->excess = 0;
  self->kept = PyList_Size(self->indices);
  free(self->begins);
  self->begins = self->times->samples < kLearned && self->kept <= kKept
                     ? malloc(((size_t)self->kept + 1) * sizeof *self->begins)
                     : NULL;
  Py_INCREF(object);
  return object;
}

static Py_ssize_t length(PyObject* object) { return PyList_Size(((Samples*)object)->indices); }

static PyObject* item(PyObject* object, PyObject* key) {
  return PyObject_GetItem(((Samples*)object)->indices, key);
}

static void dropSamples(PyObject* object) {
  Py_XDECREF(((Samples*)object)->indices);
  Py_XDECREF((PyObject*)((Samples*)object)->times);
  free(((Samples*)object)->begins);
  freeObject(object);
}

static PyType_Slot samplesSlots[] = {{Py_tp_iter, iterate},        {Py_tp_iternext, nextIndex},
                                     {Py_mp_length, length},       {Py_mp_subscript, item},
                                     {Py_tp_dealloc, dropSamples}, {0, NULL}};

static PyType_Spec samplesSpec = {.name = "_stallprof_events.Samples",
                                  .basicsize = sizeof(Samples),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = samplesSlots};

/* ---- one fetcher -------------------------------------------------------------------------- */

static PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject* report;
  if (!PyArg_ParseTuple(args, "O", &report)) return NULL;
  SampleTimes* self = (SampleTimes*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self) self->report = (Py_INCREF(report), report);
  return (PyObject*)self;
}

static void drop(PyObject* object) {
  Py_XDECREF(((SampleTimes*)object)->report);
  freeObject(object);
}

/* A fetcher that is copied or pickled takes an object() along, which is known without us. */
static PyObject* reduce(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  return Py_BuildValue("(O())", (PyObject*)&PyBaseObject_Type);
}

static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, make}, {Py_tp_dealloc, drop}, {Py_tp_methods, methods}, {0, NULL}};

static PyType_Spec spec = {.name = "_stallprof_events.SampleTimes",
                           .basicsize = sizeof(SampleTimes),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

/* The arguments of fetch(self, indices), with what reads the clock in the indices' place; NULL, no
 * error set: as they are. */
static PyObject* fetchBegins(PyObject* owner, PyObject* args, PyObject* kwargs) {
  PyObject* fetcher = argumentOf(args, 0);
  PyObject* indices = argumentOf(args, 1);
  if (!indices || !PyList_CheckExact(indices) || PyTuple_Size(args) != 2 ||
      (kwargs && PyDict_Size(kwargs) > 0))
    return NULL;
  PyObject* times = PyObject_GetAttr(fetcher, stateName);
  PyErr_Clear();
  if (!times || Py_TYPE(times) != (PyTypeObject*)owner) {
    Py_XDECREF(times);
    return NULL;
  }
  Samples* samples =
      (Samples*)((allocfunc)PyType_GetSlot(samplesType, Py_tp_alloc))(samplesType, 0);
  if (!samples) {
    Py_DECREF(times);
    return NULL;
  }
  samples->indices = (Py_INCREF(indices), indices);
  samples->times = (SampleTimes*)times;
  PyObject* changed = PyTuple_Pack(2, fetcher, (PyObject*)samples);
  Py_DECREF((PyObject*)samples);
  return changed;
}

static const struct aroundCalls fetch = {fetchBegins, NULL};
static PyObject* timesType;

static PyObject* aroundFetch(PyObject* module, PyObject* original) {
  (void)module;
  return newAround(original, timesType, &fetch);
}

static PyMethodDef functions[] = {{"around_fetch", aroundFetch, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

int addSamples(PyObject* module) {
  stateName = PyUnicode_InternFromString("_stallprof");
  samplesType = (PyTypeObject*)PyType_FromSpec(&samplesSpec);
  timesType = PyType_FromSpec(&spec);
  if (!stateName || !samplesType || !timesType) return -1;
  Py_INCREF(timesType);
  if (PyModule_AddObject(module, "SampleTimes", timesType) != 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
