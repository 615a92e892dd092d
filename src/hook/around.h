/* SPDX-License-Identifier: MIT
 *
 * Around(original, begin, end): a function that cannot be distinguished from `original`, but calls
 * `begin` before it and `end` after it. Being native it adds no frame, so tracebacks, warnings'
 * stack levels, the recursion limit and torch.compile see what they see without it. Every attribute
 * is the original's, `__class__` too; pickling is by the original's name.
 *
 *   token = begin(args, kwargs)           None: not interested, `end` is not called
 *   begin is None: the token is the first argument, the instance of a method
 *   end(token, args, result, succeeded)   result None when the original raised; where it answers a
 *   list of one, that is the call's result
 *   without an `end`, what `begin` returns are the arguments of the call: a tuple in the place of
 *   args, or a list of a tuple and a dict in the place of both
 *
 * Around(original, begin, end, True): calls of the same that a call makes, as of a module that
 * hands on to those it has, go straight to the original.
 *
 * An error of `begin` or `end` is swallowed if it is ours. One that a signal handler raised while
 * they ran (KeyboardInterrupt, or raised in a file that is not ours), or that another thread had
 * raised in this one (PyThreadState_SetAsyncExc; of a type that is not built in), goes on to the
 * program, as if it had come before or after the call. */
#ifndef STALLPROF_HOOK_AROUND_H
#define STALLPROF_HOOK_AROUND_H

#include <Python.h>

/* Adds the type to the module; 0 on success, else a Python error is set. */
int addAround(PyObject* module);

/* The end of a deallocator, of an object whose type was made at run time, as all of ours are. */
void freeObject(PyObject* object);

/* Drops the current error if it is one of ours; 0: it stays set, and is the program's. */
int droppedOurError(void);

/* The same for what is done once a batch, where calls by way of Python would cost more than all
 * else.
 *   begin(owner, args, kwargs) -> token (owned); NULL: not interested, or an error is set.
 *     No begin: the token is the first argument, the instance of a method.
 *   end(token, args, result) -> 0, or -1 with an error set; result NULL when the original raised.
 *     No end: the token is the tuple of the arguments of the call. */
struct aroundCalls {
  PyObject* (*begin)(PyObject* owner, PyObject* args, PyObject* kwargs); /* kwargs may be NULL */
  int (*end)(PyObject* token, PyObject* args, PyObject* result);
};

/* An Around of `original`; `owner` may be NULL. NULL with an error set. */
PyObject* newAround(PyObject* original, PyObject* owner, const struct aroundCalls* calls);

#endif
