/* SPDX-License-Identifier: MIT
 *
 * Turns of the program's own loops, from CPython 3.12 on: what loops.py puts in for the JUMP events
 * of sys.monitoring. watch_turns(disable, place): a function (code, from, to) for these events.
 * `disable`: sys.monitoring.DISABLE, which it answers for a jump that no event is wanted of any
 * more: forwards, of a loop that is not asked for, or of one whose turns are so short that the
 * events would be felt. place(code, from, to): (file, first line, last line) of a loop, asked once;
 * None: no event is wanted of it. LoopTurns (event/hook_events.h) are stored for loops of the
 * process's first thread, not in the children of a fork. A turn costs 0.2 us. */
#ifndef STALLPROF_HOOK_LOOPS_H
#define STALLPROF_HOOK_LOOPS_H

#include <Python.h>

/* Adds the function to the module; 0 on success, else a Python error is set. */
int addLoops(PyObject* module);

#endif
