/* SPDX-License-Identifier: MIT */
#include "hook/loops.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event/kinds.h"
#include "hook/around.h"
#include "hook/events.h"

/* Loops of a program at a time: more are not watched. */
#define MAX_LOOPS 64
/* After every so many turns: were they shorter than this, the loop is left alone from then on. At
 * 0.2 us a turn this is 0.2 % of the loop's time at most. */
#define TRIAL_TURNS 256
#define SHORT_TURN_NS 100000u
/* Turns become one event until they are this long together, and longer by and by: an hour of short
 * turns is 300,000 events. */
#define EVENT_NS 1000000u
#define EVENT_PART 65536u
/* Without a turn for as long, a loop is over where its place is needed. */
#define OVER_NS 2000000000u

struct loop {
  PyObject *code, *place; /* owned; (file as bytes, first line, last line) */
  long to;
  uint64_t lines[2];
  uint64_t begin, last, trial; /* of its first turn; when its last one ended; of the trial */
  uint64_t since;              /* of the turns not stored yet */
  uint32_t turns, tried;
};

static struct loop loops[MAX_LOOPS];
static size_t count;
static int child;          /* of a fork */
static __thread int first; /* 1: the process's first thread, -1: another, 0: not asked yet */

static void isChild(void) { child = 1; }

static int isFirstThread(void) {
  if (first == 0) first = syscall(SYS_gettid) == getpid() ? 1 : -1;
  return first > 0;
}

static void forget(struct loop* loop) {
  Py_DECREF(loop->code);
  Py_DECREF(loop->place);
  *loop = loops[--count];
}

static void putTurns(const struct loop* loop, uint64_t now) {
  const uint64_t numbers[] = {now - loop->since, loop->turns, loop->lines[0], loop->lines[1]};
  putNumbers(STALLPROF_KIND_LOOP_TURNS, loop->since, numbers, 4,
             PyBytes_AsString(PyTuple_GetItem(loop->place, 0)));
}

/* Whether one more may be watched; for it the loop is left that has had no turn for longest. */
static int hasRoom(void) {
  if (count < MAX_LOOPS) return 1;
  struct loop* oldest = loops;
  for (size_t i = 1; i < count; ++i)
    if (loops[i].last < oldest->last) oldest = &loops[i];
  if (clockNs(CLOCK_MONOTONIC) - oldest->last < OVER_NS) return 0;
  if (oldest->turns > 0) putTurns(oldest, oldest->last);
  forget(oldest);
  return 1;
}

/* The loop that a jump belongs to, asked for its place where it is new; NULL: none is wanted, or
 * with an error set that is not ours. */
static struct loop* loopOf(PyObject* placeOf, PyObject* code, PyObject* from, PyObject* to) {
  const long target = PyLong_AsLong(to);
  for (size_t i = 0; i < count; ++i)
    if (loops[i].code == code && loops[i].to == target) return &loops[i];
  if (!hasRoom()) return NULL;
  PyObject* place = PyObject_CallFunctionObjArgs(placeOf, code, from, to, NULL);
  if (!place || !PyTuple_Check(place)) {
    Py_XDECREF(place);
    if (PyErr_Occurred()) (void)droppedOurError();
    return NULL;
  }
  Py_INCREF(code);
  loops[count] = (struct loop){.code = code,
                               .place = place,
                               .to = target,
                               .lines = {PyLong_AsUnsignedLongLong(PyTuple_GetItem(place, 1)),
                                         PyLong_AsUnsignedLongLong(PyTuple_GetItem(place, 2))}};
  return &loops[count++];
}

/* Stores what is due; 0: the loop's turns are too short. */
static int turned(struct loop* loop, uint64_t now) {
  if (loop->last == 0) {
    loop->begin = loop->last = loop->since = loop->trial = now;
    return 1;
  }
  loop->last = now;
  ++loop->turns;
  const uint64_t part = (now - loop->begin) / EVENT_PART;
  if (now - loop->since >= (part > EVENT_NS ? part : EVENT_NS)) {
    putTurns(loop, now);
    loop->since = now;
    loop->turns = 0;
  }
  if (++loop->tried < TRIAL_TURNS) return 1;
  const int slow = now - loop->trial >= (uint64_t)TRIAL_TURNS * SHORT_TURN_NS;
  loop->tried = 0;
  loop->trial = now;
  return slow;
}

/* Of a thread other than the first: whether its turns come so fast that they cost it something.
 * What is due when that is noticed is most likely what runs most often. */
static int areFelt(void) {
  static __thread uint64_t begin;
  static __thread uint32_t turns;
  if (turns++ % TRIAL_TURNS != 0) return 0;
  const uint64_t now = clockNs(CLOCK_MONOTONIC), before = begin;
  begin = now;
  return before != 0 && now - before < (uint64_t)TRIAL_TURNS * SHORT_TURN_NS;
}

static PyObject* turn(PyObject* self, PyObject* args) {
  PyObject *disable = PyTuple_GetItem(self, 0), *code, *from, *to;
  PyObject* answer = Py_None;
  if (child || !PyArg_UnpackTuple(args, "turn", 3, 3, &code, &from, &to)) {
    PyErr_Clear();
    answer = disable;
  } else if (PyLong_AsLong(to) > PyLong_AsLong(from)) {
    answer = disable;
  } else if (!isFirstThread()) {
    if (areFelt()) answer = disable;
  } else {
    struct loop* loop = loopOf(PyTuple_GetItem(self, 1), code, from, to);
    if (!loop && PyErr_Occurred()) return NULL;
    if (!loop) {
      answer = disable;
    } else if (!turned(loop, clockNs(CLOCK_MONOTONIC))) {
      forget(loop);
      answer = disable;
    }
  }
  Py_INCREF(answer);
  return answer;
}

static PyMethodDef turnMethod = {"turn", turn, METH_VARARGS, NULL};

static PyObject* watchTurns(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *disable, *place;
  if (!PyArg_UnpackTuple(args, "watch_turns", 2, 2, &disable, &place)) return NULL;
  if (pthread_atfork(NULL, NULL, isChild) != 0) Py_RETURN_NONE;
  PyObject* owner = PyTuple_Pack(2, disable, place);
  PyObject* function = owner ? PyCFunction_New(&turnMethod, owner) : NULL;
  Py_XDECREF(owner);
  return function;
}

static PyMethodDef functions[] = {{"watch_turns", watchTurns, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int addLoops(PyObject* module) { return PyModule_AddFunctions(module, functions); }
