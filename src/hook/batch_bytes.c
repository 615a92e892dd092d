/* SPDX-License-Identifier: MIT */
#include "hook/batches.h"

/* Of a batch looked at for its size; a batch of more parts is of unknown size. */
enum { kMostParts = 64 };

struct parts {
  PyObject* waiting[kMostParts]; /* owned */
  int count, seen;
  int64_t bytes;
};

/* `module.name` (borrowed, kept for good) once the module has been imported; NULL: not yet. */
static PyObject* typeOf(PyObject** kept, const char* module, const char* name) {
  if (*kept) return *kept;
  PyObject* key = PyUnicode_FromString(module);
  PyObject* from = key ? PyImport_GetModule(key) : NULL;
  if (from) *kept = PyObject_GetAttrString(from, name);
  Py_XDECREF(from);
  Py_XDECREF(key);
  PyErr_Clear();
  return *kept;
}

/* The integer `object.name()` or, where it is no method, `object.name`; 0 on trouble. */
static int64_t ask(PyObject* object, const char* name, int call) {
  PyObject* value = PyObject_GetAttrString(object, name);
  if (value && call) {
    PyObject* answer = PyObject_CallObject(value, NULL);
    Py_DECREF(value);
    value = answer;
  }
  int64_t number = value ? PyLong_AsLongLong(value) : 0;
  Py_XDECREF(value);
  if (PyErr_Occurred()) return PyErr_Clear(), 0;
  return number;
}

static int push(struct parts* parts, PyObject* part) {
  if (!part || parts->seen == kMostParts) return 0;
  ++parts->seen;
  parts->waiting[parts->count++] = (Py_INCREF(part), part);
  return 1;
}

static int pushItems(struct parts* parts, PyObject* whole) {
  if (PyDict_CheckExact(whole)) {
    Py_ssize_t at = 0;
    PyObject* value;
    while (PyDict_Next(whole, &at, NULL, &value))
      if (!push(parts, value)) return 0;
  } else if (PyList_CheckExact(whole)) {
    for (Py_ssize_t i = 0; i < PyList_Size(whole); ++i)
      if (!push(parts, PyList_GetItem(whole, i))) return 0;
  } else if (PyTuple_Check(whole)) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(whole); ++i)
      if (!push(parts, PyTuple_GetItem(whole, i))) return 0;
  }
  return 1;
}

static int look(struct parts* parts, PyObject* part) {
  static PyObject *tensor, *array;
  PyObject* type = (PyObject*)Py_TYPE(part);
  if (type == typeOf(&tensor, "torch", "Tensor")) {
    parts->bytes += ask(part, "numel", 1) * ask(part, "element_size", 1);
  } else if (type == typeOf(&array, "numpy", "ndarray")) {
    parts->bytes += ask(part, "nbytes", 0);
  } else {
    return pushItems(parts, part);
  }
  return 1;
}

int64_t batchBytes(PyObject* data) {
  struct parts parts = {.count = 0};
  int all = push(&parts, data);
  while (parts.count) {
    PyObject* part = parts.waiting[--parts.count];
    if (all) all = look(&parts, part);
    Py_DECREF(part);
  }
  return all && parts.bytes > 0 ? parts.bytes : -1;
}
