/* SPDX-License-Identifier: MIT
 *
 * What torch_loader.py, torch_worker.py and torch_samples.py do once a batch, native: a call from
 * Python costs more than what it would measure. Each name below makes an Around (around.h) of the
 * function given to it.
 *
 * Epoch: one iteration over a loader, kept in its iterator as `_stallprof`.
 *   around_next       of the iterator's __next__
 *   around_put_index  of _try_put_index: which worker owes the batch
 *   around_get_data   of _get_data: which batch came
 * Tasks(key, worker, senders, resumed): one run of the loop in a worker.
 *   around_get, around_put   of the index queue's get and the data queue's put
 *   senders() -> (tid, tid)  the feeder thread and the resource sharer's, 0 where not there
 *   resumed(message) -> key  persistent workers: the next epoch begins
 * SampleTimes(report): the times of a fetcher's samples, kept in it as `_stallprof`.
 *   around_fetch      of the fetcher's fetch; of each batch with slow samples
 *   report(at, ns, index, samples, slow, median, excess)   the slowest, and of all of the batch */
#ifndef STALLPROF_HOOK_BATCHES_H
#define STALLPROF_HOOK_BATCHES_H

#include "hook/around.h"

/* Adds types and functions to the module; 0 on success, else a Python error is set. */
int addEpoch(PyObject* module);
int addTasks(PyObject* module);
int addSamples(PyObject* module);

/* Bytes of the tensors and arrays in a batch, by exact types: no code of the user runs. */
int64_t batchBytes(PyObject* data);

/* Argument i (borrowed) of a call; NULL: not that many. */
static inline PyObject* argumentOf(PyObject* args, Py_ssize_t i) {
  return i < PyTuple_Size(args) ? PyTuple_GetItem(args, i) : NULL;
}

#endif
