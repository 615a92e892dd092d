/* SPDX-License-Identifier: MIT */
#include "hook/batches.h"

/* Of a batch whose size is read; a batch of more parts is of unknown size. */
enum { kMaxParts = 64 };

struct parts {
  PyObject* waiting[kMaxParts]; /* owned */
  int count, seen;
  int asked; /* no mode of the program's is there: once a batch */
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

/* Made once: a string for each question would cost as much as its answer. */
enum { kNumel, kElementSize, kNbytes, kQuestions };
static const char* const spellings[kQuestions] = {"numel", "element_size", "nbytes"};
static PyObject* questions[kQuestions];

/* The integer `object.name()` or, where it is no method, `object.name`; 0 on trouble. */
static int64_t ask(PyObject* object, int question, int call) {
  if (!questions[question]) questions[question] = PyUnicode_InternFromString(spellings[question]);
  PyObject* value = PyObject_GetAttr(object, questions[question]);
  if (value && call) {
    PyObject* answer = PyObject_CallObject(value, NULL);
    Py_DECREF(value);
    value = answer;
  }
  int64_t number = value ? PyLong_AsLongLong(value) : 0;
  Py_XDECREF(value);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  return number;
}

static int push(struct parts* parts, PyObject* part) {
  if (!part || parts->seen == kMaxParts) return 0;
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

/* Since 2.1 a tensor has `nbytes`, native as in an array; a property would run Python code. */
static int hasBytes(PyObject* tensorType) {
  static int known, has;
  if (known) return has;
  PyObject* attribute = PyObject_GetAttrString(tensorType, spellings[kNbytes]);
  has = attribute && Py_TYPE(attribute) != &PyProperty_Type;
  known = 1;
  Py_XDECREF(attribute);
  PyErr_Clear();
  return has;
}

/* Whether the program has a mode that every question to a tensor goes through: its own code. That
 * of torch.set_default_device() is torch's. */
static int hasMode(void) {
  static PyObject *modes, *at, *context;
  PyObject* count = typeOf(&modes, "torch._C", "_len_torch_function_stack")
                        ? PyObject_CallObject(modes, NULL)
                        : NULL;
  long number = count ? PyLong_AsLong(count) : 0;
  Py_XDECREF(count);
  if (number == 1 && typeOf(&at, "torch._C", "_get_function_stack_at") &&
      typeOf(&context, "torch.utils._device", "DeviceContext")) {
    PyObject* mode = PyObject_CallFunction(at, "i", 0);
    if (mode && (PyObject*)Py_TYPE(mode) == context) number = 0;
    Py_XDECREF(mode);
  }
  PyErr_Clear();
  return number != 0;
}

static int addPart(struct parts* parts, PyObject* part) {
  static PyObject *tensor, *array;
  PyObject* type = (PyObject*)Py_TYPE(part);
  if (type == typeOf(&tensor, "torch", "Tensor")) {
    if (!parts->asked && hasMode()) return 0;
    parts->asked = 1;
    parts->bytes +=
        hasBytes(type) ? ask(part, kNbytes, 0) : ask(part, kNumel, 1) * ask(part, kElementSize, 1);
  } else if (type == typeOf(&array, "numpy", "ndarray")) {
    parts->bytes += ask(part, kNbytes, 0);
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
    if (all) all = addPart(&parts, part);
    Py_DECREF(part);
  }
  return all && parts.bytes > 0 ? parts.bytes : -1;
}
