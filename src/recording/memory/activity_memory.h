/* SPDX-License-Identifier: MIT
 *
 * Activity memory: how the agent, inside a process that uses a GPU, hands device records to the
 * recorder. CUPTI writes its records straight into buffers that live in the recorder's memory, so
 * what it has written survives any death of the process. FORMAT.md, "Activity memory", is the
 * prose.
 *
 * The recorder makes one memfd of STALLPROF_ACTIVITY_BYTES, sparse until touched, and names it in
 * the job's environment as STALLPROF_ACTIVITY=/proc/RECORDER/fd/N. The agent opens, maps and closes
 * it, then claims an area: compare-and-swap of `owner` from 0 to its pid, then `start_ticks`. The
 * recorder frees an area (all zero, `owner` last) when its owner is gone and all is read. After
 * fork the child must map private zeros over it: CUPTI, inherited, would write into the parent's
 * buffers.
 *
 * A buffer goes free -> taken (agent, when CUPTI asks for one) -> full (agent, when CUPTI gives it
 * back) -> free (recorder, after reading and zeroing it). Buffers that CUPTI holds at the owner's
 * death are read up to their first zero record. In a full buffer the agent has replaced the name
 * pointer of each kernel and device by the name's number (1 and up, in order of the name log);
 * pointers are larger than STALLPROF_NAME_NUMBERS, and in a buffer that was never returned they are
 * resolved in the log. How long a record is depends on the library: `stride` has what the agent
 * saw, by kind (0: none yet; records of such a kind end the reading of a buffer that was not
 * returned).
 *
 * Rings (clocks, switches): entry n is at [n % size]; `head` counts entries ever written and is
 * stored after the entry. The recorder trusts nothing here. */
#ifndef STALLPROF_RECORDING_ACTIVITY_MEMORY_H
#define STALLPROF_RECORDING_ACTIVITY_MEMORY_H

#include <stdint.h>

#define STALLPROF_ACTIVITY_MAGIC 0x31305443414d5053ull /* "SPMACT01" */
#define STALLPROF_ACTIVITY_VERSION 2u
#define STALLPROF_ACTIVITY_VARIABLE "STALLPROF_ACTIVITY"
#define STALLPROF_ACTIVITY_AREAS 16u   /* processes that use a GPU at one time */
#define STALLPROF_ACTIVITY_BUFFERS 32u /* CUPTI 13 holds one for each thread that calls CUDA */
/* About 2,000 launches with their kernel and API records (256 bytes) in each; a flush a second. */
#define STALLPROF_ACTIVITY_BUFFER_BYTES (512u * 1024u)
#define STALLPROF_ACTIVITY_KINDS 64u
#define STALLPROF_ACTIVITY_CLOCKS 64u
#define STALLPROF_ACTIVITY_SWITCHES 256u
#define STALLPROF_NAME_BYTES (1024u * 1024u)
#define STALLPROF_NAME_LIMIT 4096u /* a longer name is cut by the agent */
#define STALLPROF_NAME_NUMBERS 0x100000ull

enum stallprof_buffer_state {
  STALLPROF_BUFFER_FREE,
  STALLPROF_BUFFER_TAKEN,
  STALLPROF_BUFFER_FULL
};

/* What the agent is doing; `why` in the area says it in words where it is less than tracing. */
enum stallprof_agent_state {
  STALLPROF_AGENT_NONE,
  STALLPROF_AGENT_TRACING,
  STALLPROF_AGENT_YIELDED, /* another tool of this process has CUPTI for now, or nobody reads */
  STALLPROF_AGENT_REFUSED, /* no CUPTI, a version we do not trust, no permission, another tool */
  STALLPROF_AGENT_HUNG,    /* a call into CUPTI did not come back; never called again */
  STALLPROF_AGENT_ENDED,   /* the process ended in order, and all was flushed */
};

/* What is being recorded. All of it in windows, and between them nothing. */
#define STALLPROF_ON_COPIES 1u  /* copies, synchronizations */
#define STALLPROF_ON_KERNELS 2u /* kernels, sets, graph launches */
#define STALLPROF_ON_CALLS 4u   /* launch, copy and allocation calls of the host */

struct stallprof_activity_buffer {
  uint32_t state; /* enum stallprof_buffer_state */
  uint32_t reserved;
  uint64_t bytes; /* written by CUPTI, when full */
};

struct stallprof_clock_pair { /* the smallest bracket of several tries */
  uint64_t monotonic;         /* CLOCK_MONOTONIC, ns: the middle of the bracket */
  uint64_t device;            /* cuptiGetTimestamp() within it */
  uint64_t uncertainty;       /* the bracket's width, ns */
};

struct stallprof_switch {
  uint64_t monotonic;
  uint32_t on; /* STALLPROF_ON_...: from this instant */
  uint32_t reserved;
};

/* Its text follows in the name log, padded to 8 bytes. A number that the log has had, without a
 * text: a further address of that name. Number 0: no address that the log has so far is a name's
 * any more. */
struct stallprof_name {
  uint64_t pointer; /* the name's address in the owner, as records have it */
  uint32_t number;
  uint32_t length;
};

struct stallprof_activity_header { /* one page */
  uint64_t magic;
  uint32_t version;
  uint32_t areas;
  uint32_t closed;      /* set by the recorder at its end: agents stop tracing */
  uint32_t turned_away; /* processes that found no free area; counted by the agents */
  uint32_t in_windows;  /* not 0: nothing is recorded but in windows, not even the start */
  uint8_t reserved[4096 - 28];
};

struct stallprof_activity_area {
  uint32_t owner; /* pid, as the recorder's /proc has it; 0: free */
  uint32_t state; /* enum stallprof_agent_state */
  uint64_t start_ticks;
  uint32_t cupti_version;  /* cuptiGetVersion() */
  uint32_t driver_version; /* cuDriverGetVersion() */
  int32_t error;           /* CUptiResult of the last failure; 0: none */
  uint32_t reserved0;
  char why[256];
  uint64_t flushed;    /* CLOCK_MONOTONIC when the last whole flush began: older work is all here */
  uint64_t dropped;    /* records, as CUPTI counts them */
  uint64_t starved;    /* times CUPTI asked for a buffer and none was free */
  uint64_t name_head;  /* bytes of the name log in use */
  uint64_t names_lost; /* names that had no room in the log: number STALLPROF_NAME_NUMBERS - 1 */
  uint64_t clock_head;
  uint64_t switch_head;
  uint64_t agent_cpu; /* ns of CPU spent by the agent's own thread */
  uint32_t stride[STALLPROF_ACTIVITY_KINDS];
  struct stallprof_activity_buffer buffer[STALLPROF_ACTIVITY_BUFFERS];
  struct stallprof_clock_pair clock[STALLPROF_ACTIVITY_CLOCKS];
  struct stallprof_switch onoff[STALLPROF_ACTIVITY_SWITCHES];
  uint8_t names[STALLPROF_NAME_BYTES] __attribute__((aligned(4096)));
  uint8_t data[STALLPROF_ACTIVITY_BUFFERS][STALLPROF_ACTIVITY_BUFFER_BYTES]
      __attribute__((aligned(4096)));
};

#define STALLPROF_ACTIVITY_BYTES              \
  (sizeof(struct stallprof_activity_header) + \
   STALLPROF_ACTIVITY_AREAS * sizeof(struct stallprof_activity_area))

#endif
