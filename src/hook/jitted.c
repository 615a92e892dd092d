/* SPDX-License-Identifier: MIT */
#include "hook/jitted.h"

#include <stdint.h>

#include "hook/around.h"
#include "hook/batches.h"
#include "hook/events.h"

/* Calls while no function was a step, after which none is searched for any more: half a second of
 * them. A program that computes eagerly would pay for them to its end. */
#define USELESS_CALLS (1 << 20)
static unsigned useless;

/* Calls of this thread that are under way: a function that is traced calls others. */
static __thread unsigned depth;
static __thread PyObject *outermost, *named; /* borrowed: the call holds them */
static __thread uint64_t since;

/* What `steps` has of the function; NULL: nothing, and no error set. Borrowed. */
static PyObject* stepOf(PyObject* owner, PyObject* function) {
  PyObject* steps = PyTuple_GetItem(owner, 0);
  if (!function || PyDict_Size(steps) == 0) return NULL;
  PyObject* key = PyLong_FromVoidPtr(function);
  PyObject* step = key ? PyDict_GetItem(steps, key) : NULL;
  Py_XDECREF(key);
  PyErr_Clear();
  return step;
}

/* Calls one of ours; 0 with an error set. */
static int notify(PyObject* callback, PyObject* step, PyObject* a, PyObject* b, PyObject* c,
                  PyObject* d) {
  Py_INCREF(step);
  PyObject* answer = PyObject_CallFunctionObjArgs(callback, step, a, b, c, d, NULL);
  Py_DECREF(step);
  Py_XDECREF(answer);
  return answer != NULL;
}

static int giveUp(PyObject* owner) {
  PyObject* answer = PyObject_CallObject(PyTuple_GetItem(owner, 3), NULL);
  Py_XDECREF(answer);
  return answer != NULL;
}

static PyObject* begins(PyObject* owner, PyObject* args, PyObject* kwargs) {
  if (useless < USELESS_CALLS && PyDict_Size(PyTuple_GetItem(owner, 0)) == 0 &&
      ++useless == USELESS_CALLS && !giveUp(owner))
    return NULL;
  PyObject *function = argumentOf(args, 0), *step = stepOf(owner, function);
  PyObject* inside = depth > 0 ? Py_True : Py_False;
  if (step &&
      !notify(PyTuple_GetItem(owner, 1), step, args, kwargs ? kwargs : Py_None, inside, NULL))
    return NULL;
  if (depth++ == 0) {
    outermost = function;
    named = kwargs ? kwargs : Py_None;
    since = clockNs(CLOCK_MONOTONIC);
  }
  Py_INCREF(owner);
  return owner;
}

static int done(PyObject* owner, PyObject* args, PyObject* result) {
  if (depth == 0 || --depth > 0) return 0;
  outermost = NULL;
  PyObject* step = result ? stepOf(owner, argumentOf(args, 0)) : NULL;
  if (!step) return 0;
  PyObject* at = PyLong_FromUnsignedLongLong(since);
  int done = at && notify(PyTuple_GetItem(owner, 2), step, at, args, named, result);
  Py_XDECREF(at);
  return done ? 0 : -1;
}

static const struct aroundCalls calls = {begins, done};

static PyObject* aroundJitted(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *original, *steps, *begin, *end, *never;
  if (!PyArg_ParseTuple(args, "OO!OOO", &original, &PyDict_Type, &steps, &begin, &end, &never))
    return NULL;
  PyObject* owner = PyTuple_Pack(4, steps, begin, end, never);
  PyObject* around = owner ? newAround(original, owner, &calls) : NULL;
  Py_XDECREF(owner);
  return around;
}

static PyObject* outermostJitted(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  PyObject* function = outermost ? outermost : Py_None;
  Py_INCREF(function);
  return function;
}

static PyMethodDef functions[] = {{"around_jitted", aroundJitted, METH_VARARGS, NULL},
                                  {"outermost_jitted", outermostJitted, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int addJitted(PyObject* module) { return PyModule_AddFunctions(module, functions); }
