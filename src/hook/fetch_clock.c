/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "hook/fetch_clock.h"

#include <string.h>
#include <sys/resource.h>

#include "hook/around.h"
#include "hook/events.h"

/* The period varies, or it could beat with the data's own. */
enum { kPeriodNs = 100000000, kPeriodSpread = 0x3ffffff /* mask: 67 ms */ };
enum { kEnough = 8 }; /* batches that waited, for a share of their time; until then the account */
static uint64_t due;  /* a batch that is asked for later is read */
static uint64_t tick; /* ns between two of the scheduler's, at which it accounts a running thread */

static struct account accountNow(void) {
  struct rusage usage = {.ru_majflt = 0};
  getrusage(RUSAGE_THREAD, &usage);
  return (struct account){(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                              (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u,
                          usage.ru_nvcsw, usage.ru_nivcsw};
}

struct fetch fetchBegins(const struct fetchCpu* known, int here) {
  struct fetch fetch = {.here = (char)here, .at = clockNs(CLOCK_MONOTONIC)};
  fetch.read = known->readings < 2 || fetch.at >= due;
  if (fetch.read) {
    if (here) fetch.process = clockNs(CLOCK_PROCESS_CPUTIME_ID); /* no later than the thread's */
    fetch.cpu = clockNs(CLOCK_THREAD_CPUTIME_ID);
    /* A CPU lost by reading is lost to what used up the slice; one that waits is waiting anyway. */
    if (here) fetch.at = clockNs(CLOCK_MONOTONIC);
  }
  if (here) fetch.account = accountNow();
  return fetch;
}

/* The order of clocks is that at the begin. */
static struct fetched readFetch(struct fetchCpu* known, const struct fetch* fetch, int isBatch) {
  const int waited = fetch->here && accountNow().waits != fetch->account.waits;
  struct fetched f = {.at = fetch->at, .process = -1, .read = 1};
  if (!fetch->here) f.duration = clockNs(CLOCK_MONOTONIC) - fetch->at;
  f.cpu = clockNs(CLOCK_THREAD_CPUTIME_ID) - fetch->cpu;
  if (fetch->here) {
    f.process = (int64_t)(clockNs(CLOCK_PROCESS_CPUTIME_ID) - fetch->process);
    f.duration = clockNs(CLOCK_MONOTONIC) - fetch->at;
  }
  f.cpu = cpuWithin(f.cpu, f.duration);
  if (isBatch && !fetch->here) addToShare(&known->ofThread, f.cpu, 1);
  if (isBatch && fetch->here && f.duration < kPeriodNs) {
    const uint64_t pool = f.process > (int64_t)f.cpu ? (uint64_t)f.process - f.cpu : 0;
    if (waited) addToShare(&known->ofThread, f.cpu, f.duration);
    addToShare(&known->ofPool, pool, f.duration);
  }
  known->readings += isBatch;
  const uint64_t end = f.at + f.duration;
  due = end + kPeriodNs + (end & kPeriodSpread);
  return f;
}

/* CPU of this thread, of a batch that is made here. */
static uint64_t estimateHere(struct fetchCpu* known, const struct account* begin,
                             uint64_t duration) {
  const struct account end = accountNow();
  const int waited = end.waits != begin->waits;
  if (!waited && end.losses == begin->losses) {
    addToShare(&known->running, duration, 1);
    return duration;
  }
  const uint64_t accounted = end.cpu - begin->cpu; /* right but for a tick */
  uint64_t cpu = accounted;
  if (!waited && known->running.whole > 0) cpu = partOf(&known->running, 1);
  if (waited && known->ofThread.measured >= kEnough) cpu = partOf(&known->ofThread, duration);
  if (cpu > accounted + tick) cpu = accounted + tick;
  if (cpu + tick < accounted) cpu = accounted - tick;
  return cpu;
}

struct fetched fetchEnds(struct fetchCpu* known, const struct fetch* fetch, int isBatch) {
  if (fetch->read) return readFetch(known, fetch, isBatch);
  struct fetched f = {.at = fetch->at, .process = -1};
  f.duration = clockNs(CLOCK_MONOTONIC) - fetch->at;
  f.cpu =
      fetch->here ? estimateHere(known, &fetch->account, f.duration) : partOf(&known->ofThread, 1);
  f.cpu = cpuWithin(f.cpu, f.duration);
  if (fetch->here) f.process = (int64_t)(f.cpu + partOf(&known->ofPool, f.duration));
  return f;
}

/* ---- the type ----------------------------------------------------------------------------- */

typedef struct {
  PyObject_HEAD struct fetchCpu known;
} FetchClock;

static PyObject* begin(PyObject* self, PyObject* none) {
  (void)none;
  const struct fetch fetch = fetchBegins(&((FetchClock*)self)->known, 1);
  return PyBytes_FromStringAndSize((const char*)&fetch, sizeof fetch);
}

static PyObject* end(PyObject* self, PyObject* args) {
  PyObject* token;
  int isBatch;
  if (!PyArg_ParseTuple(args, "Sp", &token, &isBatch)) return NULL;
  struct fetch fetch;
  if (PyBytes_Size(token) != sizeof fetch)
    return PyErr_Format(PyExc_ValueError, "not a token of begin()");
  memcpy(&fetch, PyBytes_AsString(token), sizeof fetch);
  const struct fetched f = fetchEnds(&((FetchClock*)self)->known, &fetch, isBatch);
  return Py_BuildValue("KKKLi", f.at, f.duration, f.cpu, (long long)f.process, f.read);
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_NOARGS, "-> token"},
    {"end", end, METH_VARARGS, "(token, is_batch) -> (at, duration, cpu, process_cpu, read)"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, freeObject}, {Py_tp_methods, methods}, {0, NULL}};

static PyType_Spec spec = {.name = "_stallprof_events.FetchClock",
                           .basicsize = sizeof(FetchClock),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

int addFetchClock(PyObject* module) {
  struct timespec resolution = {0, 0};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution); /* it advances with the tick */
  tick = (uint64_t)resolution.tv_nsec;
  PyObject* type = PyType_FromSpec(&spec);
  return type ? PyModule_AddObject(module, "FetchClock", type) : -1;
}
