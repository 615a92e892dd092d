/* SPDX-License-Identifier: MIT
 *
 * Event memory: how code inside the job hands events to the recorder without a descriptor, a lock
 * or a system call. C, because the hook's extension is C. FORMAT.md, "Event memory", is the prose.
 *
 * The recorder makes one memfd of STALLPROF_MEMORY_BYTES and names it in the job's environment as
 * STALLPROF_EVENTS=/proc/RECORDER/fd/N. A process of the job opens, maps and closes it, then claims
 * a slot: compare-and-swap of `owner` from 0 to its pid, then writes `startTicks` (0 if unknown, or
 * where another time namespace counts it otherwise). Who can open that path sees the recorder's
 * /proc: there /proc/self has the pid that the recorder knows, whatever namespace the process is
 * in. A slot has one writer at a time (the hook writes under the GIL) and one reader, the recorder,
 * which frees it (owner back to 0) when the owner is gone and all is drained. After fork the child
 * must forget its parent's slot and claim its own.
 *
 * Ring: `head` and `tail` count bytes ever written and read; the byte at position p is
 * data[p % STALLPROF_RING_BYTES]. A record never straddles the end: the writer fills the rest with
 * a padding record (kind 0). No room: the record is dropped and `dropped` is increased.
 *
 * Record: header, then `values` values, 8-byte aligned, `size` bytes in all.
 * A value is 8 bytes: for an integer, the integer; for a text, its length, followed by that many
 * bytes and zeros up to a multiple of 8. Which it is, is known from the kind: values are the fields
 * of the event struct of that kind, in order, without its ThreadId and ProcessId fields, which the
 * recorder fills in from the slot's owner and the header's tid. */
#ifndef STALLPROF_RECORDING_EVENT_MEMORY_H
#define STALLPROF_RECORDING_EVENT_MEMORY_H

#include <stdint.h>

#define STALLPROF_MEMORY_MAGIC 0x31304d454d505453ull /* "STPMEM01" */
#define STALLPROF_MEMORY_VERSION 1u
#define STALLPROF_MEMORY_SLOTS 512u
#define STALLPROF_RING_BYTES 65536u /* a power of two */
#define STALLPROF_MEMORY_VARIABLE "STALLPROF_EVENTS"
#define STALLPROF_RUN_VARIABLE "STALLPROF_RECORDING" /* the recording's directory */
#define STALLPROF_TEXT_LIMIT 1024u                   /* longer texts are cut by the writer */

struct stallprof_memory_header { /* one page */
  uint64_t magic;
  uint32_t version;
  uint32_t slots;
  uint32_t ring_bytes;
  uint32_t closed;                           /* set by the recorder at its end: writers stop */
  uint64_t run;                              /* stallprof_run_name() of the recording; 0: any */
  int64_t monotonic_offset, boottime_offset; /* of the recorder's time namespace, ns */
  uint32_t claims;                           /* each writer adds 1 once it owns a slot */
  uint8_t reserved[4096 - 52];
};

struct stallprof_slot {
  uint32_t owner; /* pid, as the recorder's /proc has it; 0: free */
  uint32_t reserved0;
  uint64_t start_ticks;
  uint64_t head;    /* written by the owner, release */
  uint64_t dropped; /* records; written by the owner */
  uint8_t reserved1[32];
  uint64_t tail; /* written by the recorder, release */
  uint8_t reserved2[4096 - 72];
  uint8_t data[STALLPROF_RING_BYTES];
};

#define STALLPROF_MEMORY_BYTES \
  (sizeof(struct stallprof_memory_header) + STALLPROF_MEMORY_SLOTS * sizeof(struct stallprof_slot))

struct stallprof_record {
  uint32_t size; /* bytes with this header; a multiple of 8 */
  uint16_t kind; /* event/kinds.h; 0: padding */
  uint16_t values;
  uint32_t tid; /* of the writing thread, as the recorder's /proc has it */
  uint32_t reserved;
  uint64_t at; /* CLOCK_MONOTONIC of the recorder's time namespace, ns */
};

#endif
