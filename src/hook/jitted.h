/* SPDX-License-Identifier: MIT
 *
 * What jax_steps.py does at each call of a compiled function, native: eager JAX code makes
 * thousands of them a second, at 7 us and more each, and only some are steps.
 *   around_jitted(original, steps, begin, done, never)
 *     an Around of their calls, whose first argument is the function. `steps`: id(function) -> a
 *     step. Functions that are none cost half a microsecond a call, and for the others it calls
 *     begin(step, args, kwargs, inside)      before; inside: of another's call, which traces it
 *     done(step, at, args, kwargs, result)   after an outermost call that raised nothing
 *     never()                                once, when a million calls have shown no step
 *   outermost_jitted()
 *     the function that this thread called first of those it is in; None: none */
#ifndef STALLPROF_HOOK_JITTED_H
#define STALLPROF_HOOK_JITTED_H

#include <Python.h>

/* Adds the functions to the module; 0 on success, else a Python error is set. */
int addJitted(PyObject* module);

#endif
