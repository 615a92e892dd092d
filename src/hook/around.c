/* SPDX-License-Identifier: MIT */
#include "hook/around.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <structmember.h>

#include "hook/events.h"

typedef struct {
  PyObject_HEAD PyObject *original, *begin, *end; /* end: NULL where begin makes the arguments */
  const struct aroundCalls* calls;                /* not NULL: instead of begin and end */
  PyObject* owner;
  PyObject* weakReferences;
  int reported;      /* an error of the callbacks */
  int outermost;     /* calls within a call of the same thread are the original's alone */
  const char* inner; /* the thread whose calls are such now, by the address of its `here` */
} Around;

static __thread char here;

static PyTypeObject* aroundType;
static PyObject* methodType; /* types.MethodType */

/* ---- whose error is it ---------------------------------------------------------------------- */

/* Whether this entry of a traceback is a frame of the package stallprof_hook, or of the import
 * system, which our own imports run. */
static int isOurFrame(PyObject* traceback) {
  static const char* const names[] = {"stallprof_hook", "importlib._bootstrap",
                                      "_frozen_importlib"};
  PyObject* frame = PyObject_GetAttrString(traceback, "tb_frame");
  PyObject* globals = frame ? PyObject_GetAttrString(frame, "f_globals") : NULL;
  PyObject* name = globals ? PyMapping_GetItemString(globals, "__name__") : NULL;
  PyObject* bytes = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
  const char* text = bytes ? PyBytes_AsString(bytes) : NULL;
  int ours = 0;
  for (int i = 0; text && i < 3; ++i) ours |= strncmp(text, names[i], strlen(names[i])) == 0;
  Py_XDECREF(bytes);
  Py_XDECREF(name);
  Py_XDECREF(globals);
  Py_XDECREF(frame);
  PyErr_Clear();
  return ours;
}

/* What is left of a traceback (consumed) without the frames of ours it begins with; NULL: none. */
static PyObject* withoutOurs(PyObject* traceback) {
  while (traceback && traceback != Py_None && isOurFrame(traceback)) {
    PyObject* next = PyObject_GetAttrString(traceback, "tb_next");
    Py_DECREF(traceback);
    traceback = next;
  }
  PyErr_Clear();
  if (traceback != Py_None) return traceback;
  Py_DECREF(traceback);
  return NULL;
}

/* The text attribute of an object as bytes, owned; NULL, no error set: it has none. */
static PyObject* textOf(PyObject* object, const char* name) {
  PyObject* text = object ? PyObject_GetAttrString(object, name) : NULL;
  PyObject* bytes = text && PyUnicode_CheckExact(text) ? PyUnicode_AsUTF8String(text) : NULL;
  Py_XDECREF(text);
  PyErr_Clear();
  return bytes;
}

/* What was raised with, where that is one text: asking the exception itself might run others' code.
 */
static PyObject* messageOf(PyObject* value) {
  PyObject* args = value ? PyObject_GetAttrString(value, "args") : NULL;
  PyObject* first =
      args && PyTuple_Check(args) && PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
  PyObject* bytes = first && PyUnicode_CheckExact(first) ? PyUnicode_AsUTF8String(first) : NULL;
  Py_XDECREF(args);
  PyErr_Clear();
  return bytes;
}

/* Reports an error of ours: what the callbacks that raised it see is not all there is. Of one
 * Around once, and of all a few: the same would be said at every batch. */
static void report(Around* self, PyObject* type, PyObject* value) {
  enum { kMaxReports = 16, kText = 400 };
  static int reports;
  if (self->reported || reports == kMaxReports) return;
  self->reported = 1;
  ++reports;
  PyObject* callback = self->begin && self->begin != Py_None ? self->begin : self->end;
  PyObject *module = textOf(callback, "__module__"), *name = textOf(type, "__name__");
  PyObject* message = messageOf(value);
  char source[kText], why[kText];
  const char* adapter = module ? strrchr(PyBytes_AsString(module), '.') : NULL;
  snprintf(source, sizeof source, "hook.%s", adapter ? adapter + 1 : "batches");
  snprintf(why, sizeof why, "an error of the hook: %s: %s",
           name ? PyBytes_AsString(name) : "unknown", message ? PyBytes_AsString(message) : "");
  putSource(source, why);
  Py_XDECREF(module);
  Py_XDECREF(name);
  Py_XDECREF(message);
  PyErr_Clear();
}

static int isBuiltIn(PyObject* type) {
  PyObject* module = textOf(type, "__module__");
  const int builtIn = module && strcmp(PyBytes_AsString(module), "builtins") == 0;
  Py_XDECREF(module);
  return builtIn;
}

/* Takes the current error, if it is ours, with what it is (owned): 1. It is ours if it is a
 * built-in Exception that no frame but ours has seen (nothing we call from there is Python code
 * that may raise), or none at all: then the interpreter raised it before our code ran. */
static int tookOurs(PyObject** type, PyObject** value) {
  PyObject* traceback;
  PyErr_Fetch(type, value, &traceback);
  PyErr_NormalizeException(type, value, &traceback);
  traceback = withoutOurs(traceback);
  if (!traceback && PyErr_GivenExceptionMatches(*type, PyExc_Exception) && isBuiltIn(*type))
    return 1;
  if (*value) PyException_SetTraceback(*value, traceback ? traceback : Py_None);
  PyErr_Restore(*type, *value, traceback);
  return 0;
}

int droppedOurError(void) {
  PyObject *type, *value;
  if (!tookOurs(&type, &value)) return 0;
  Py_XDECREF(type);
  Py_XDECREF(value);
  return 1;
}

/* Reports and drops the current error if it is ours; 0 when it must go on to the program. */
static int swallowed(Around* self) {
  PyObject *type, *value;
  if (!tookOurs(&type, &value)) return 0;
  report(self, type, value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  return 1;
}

/* ---- the call --------------------------------------------------------------------------- */

/* What `end` answers, owned; NULL with an error set. */
static PyObject* end(Around* self, PyObject* token, PyObject* args, PyObject* result) {
  if (!self->calls)
    return PyObject_CallFunctionObjArgs(self->end, token, args, result ? result : Py_None,
                                        result ? Py_True : Py_False, NULL);
  if (self->calls->end(token, args, result) != 0) return NULL;
  Py_INCREF(Py_None);
  return Py_None;
}

/* Calls `end`; consumes `result` (NULL: the original's error is set) and returns what the caller
 * gets: `result`, what `end` puts in its place, or NULL with an error set. */
static PyObject* finish(Around* self, PyObject* token, PyObject* args, PyObject* result) {
  PyObject *type = NULL, *value = NULL, *traceback = NULL;
  if (!result) PyErr_Fetch(&type, &value, &traceback);
  PyObject* answer = end(self, token, args, result);
  if (!answer && !swallowed(self)) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    Py_XDECREF(result);
    return NULL;
  }
  if (!result) {
    PyErr_Restore(type, value, traceback);
  } else if (answer && PyList_CheckExact(answer) && PyList_Size(answer) == 1) {
    Py_DECREF(result);
    result = PyList_GetItem(answer, 0);
    Py_INCREF(result);
  }
  Py_XDECREF(answer);
  return result;
}

/* begin's answer; without a begin, the first argument (True if none). NULL: none, or an error. */
static PyObject* begin(Around* self, PyObject* args, PyObject* kwargs) {
  if (self->calls && self->calls->begin) return self->calls->begin(self->owner, args, kwargs);
  if (self->begin && self->begin != Py_None)
    return PyObject_CallFunctionObjArgs(self->begin, args, kwargs ? kwargs : Py_None, NULL);
  PyObject* first = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_True;
  Py_INCREF(first);
  return first;
}

static PyObject* callAround(Around* self, PyObject* args, PyObject* kwargs) {
  PyObject* token = begin(self, args, kwargs);
  if (!token && PyErr_Occurred() && !swallowed(self)) return NULL;
  int hasEnd = self->end || (self->calls && self->calls->end), makesArgs = token && !hasEnd;
  PyObject *useArgs = args, *useKwargs = kwargs; /* borrowed */
  if (makesArgs && PyTuple_Check(token)) {
    useArgs = token;
  } else if (makesArgs && PyList_Check(token) && PyList_Size(token) == 2) {
    useArgs = PyList_GetItem(token, 0);
    useKwargs = PyList_GetItem(token, 1);
  }
  PyObject* result = PyObject_Call(self->original, useArgs, useKwargs);
  if (token && token != Py_None && hasEnd) result = finish(self, token, args, result);
  Py_XDECREF(token);
  return result;
}

static PyObject* call(PyObject* object, PyObject* args, PyObject* kwargs) {
  Around* self = (Around*)object;
  if (!self->outermost) return callAround(self, args, kwargs);
  if (self->inner == &here) return PyObject_Call(self->original, args, kwargs);
  /* Of another thread that is in a call, too, all are asked about from now on. */
  self->inner = &here;
  PyObject* result = callAround(self, args, kwargs);
  if (self->inner == &here) self->inner = NULL;
  return result;
}

/* ---- the same to callers as the original ------------------------------------------------- */

/* As for a function: on an instance a bound method, on a class itself. */
static PyObject* bind(PyObject* self, PyObject* instance, PyObject* owner) {
  (void)owner;
  if (!instance || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyObject_CallFunctionObjArgs(methodType, self, instance, NULL);
}

/* These must lead to us: through the original's they would step around the wrapper. */
static int isOwn(PyObject* name) {
  static const char* const own[] = {"__call__", "__get__", "__reduce__", "__reduce_ex__"};
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
    if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) return 1;
  return 0;
}

static PyObject* getAttribute(PyObject* self, PyObject* name) {
  if (isOwn(name)) return PyObject_GenericGetAttr(self, name);
  return PyObject_GetAttr(((Around*)self)->original, name);
}

static int setAttribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(((Around*)self)->original, name, value);
}

static PyObject* repr(PyObject* self) { return PyObject_Repr(((Around*)self)->original); }

/* To pickle and copy a string means: a global of that name. */
static PyObject* reduce(PyObject* self, PyObject* args) {
  (void)args;
  return PyObject_GetAttrString(((Around*)self)->original, "__qualname__");
}

PyObject* newAround(PyObject* original, PyObject* owner, const struct aroundCalls* calls) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(aroundType, Py_tp_alloc);
  Around* self = (Around*)allocate(aroundType, 0);
  if (!self) return NULL;
  self->original = (Py_INCREF(original), original);
  self->owner = owner;
  Py_XINCREF(owner);
  self->calls = calls;
  return (PyObject*)self;
}

static PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject *original, *begin, *end = NULL;
  int outermost = 0;
  if (!PyArg_ParseTuple(args, "OO|Op", &original, &begin, &end, &outermost)) return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Around* self = (Around*)allocate(type, 0);
  if (!self) return NULL;
  self->original = (Py_INCREF(original), original);
  self->begin = (Py_INCREF(begin), begin);
  self->end = end;
  self->outermost = outermost;
  Py_XINCREF(end);
  return (PyObject*)self;
}

/* A model may hold one whose callbacks hold the model. There is nothing to clear: every such cycle
 * goes through a dict or a function, too. */
static int visitHeld(PyObject* object, visitproc visit, void* arg) {
  Around* self = (Around*)object;
  Py_VISIT(self->original);
  Py_VISIT(self->begin);
  Py_VISIT(self->end);
  Py_VISIT(self->owner);
  return 0;
}

void freeObject(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static void drop(PyObject* object) {
  Around* self = (Around*)object;
  PyObject_GC_UnTrack(object);
  if (self->weakReferences) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->original);
  Py_XDECREF(self->begin);
  Py_XDECREF(self->end);
  Py_XDECREF(self->owner);
  freeObject(object);
}

static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, NULL},
                                {"__reduce_ex__", reduce, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};

/* A function can be weakly referenced, and torch.compile does that. (CPython 3.8 does not know this
 * member and goes without.) */
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Around, weakReferences), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, make},
                              {Py_tp_dealloc, drop},
                              {Py_tp_traverse, visitHeld},
                              {Py_tp_call, call},
                              {Py_tp_descr_get, bind},
                              {Py_tp_getattro, getAttribute},
                              {Py_tp_setattro, setAttribute},
                              {Py_tp_repr, repr},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {0, NULL}};

/* METHOD_DESCRIPTOR: the interpreter may pass the instance as first argument instead of binding. */
static PyType_Spec spec = {
    .name = "_stallprof_events.Around",
    .basicsize = sizeof(Around),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots};

int addAround(PyObject* module) {
  PyObject* types = PyImport_ImportModule("types");
  if (!types) return -1;
  methodType = PyObject_GetAttrString(types, "MethodType");
  Py_DECREF(types);
  aroundType = (PyTypeObject*)PyType_FromSpec(&spec);
  if (!methodType || !aroundType) return -1;
  Py_INCREF((PyObject*)aroundType);
  return PyModule_AddObject(module, "Around", (PyObject*)aroundType);
}
