/* SPDX-License-Identifier: MIT
 *
 * The time and the CPU of each next() of a loader.
 *
 * Reading a CPU clock makes the kernel count the time slice, and take the CPU where that has ended.
 * On full CPUs a thread that reads at each batch loses its CPU there and nowhere else: a loader
 * that is half of the step would seem a tenth or nine tenths of it. So clocks are read for an
 * epoch's first two batches, and then for one that is asked for some 130 ms after the last reading
 * of any. The CPU of others is an estimate:
 *
 * Where the batch is made in this process it is all of the time where the thread was not switched
 * out. Where it lost its CPU but waited for nothing it is what such batches take; else, within a
 * tick of what the kernel's account shows, the share of their time that those read used. Of that a
 * batch that takes longer than the period says nothing. Else it is what those read used. */
#ifndef STALLPROF_HOOK_FETCH_CLOCK_H
#define STALLPROF_HOOK_FETCH_CLOCK_H

#include <Python.h>

#include "hook/share.h"

/* What the kernel shows of this thread without counting its slice. */
struct account {
  uint64_t cpu;       /* ns, at most a tick late where the thread has run since */
  long waits, losses; /* switches: it gave its CPU away, it lost it */
};

/* Of an epoch's batches so far; begins as zeros. */
struct fetchCpu {
  int64_t readings; /* of batches */
  /* CPU of those read, and their time; if made elsewhere, their number. */
  struct share ofThread, ofPool;
  struct share running; /* time of batches without a switch, and their number */
};

/* A next() under way. ns, all at its begin. */
struct fetch {
  char here, read; /* made in this process; the clocks are read */
  uint64_t at;     /* monotonic */
  uint64_t cpu, process;
  struct account account; /* if made here */
};

struct fetched {
  uint64_t at, duration, cpu; /* ns */
  int64_t process;            /* CPU of all threads of the process; -1: not known */
  char read;
};

struct fetch fetchBegins(const struct fetchCpu* known, int here);
struct fetched fetchEnds(struct fetchCpu* known, const struct fetch* fetch, int isBatch);

/* The type FetchClock, for adapters in Python whose batches are made in this process:
 *   begin() -> token
 *   end(token, is_batch) -> (at, duration, cpu, process_cpu, read)
 * Adds it to the module; 0 on success, else a Python error is set. */
int addFetchClock(PyObject* module);

#endif
