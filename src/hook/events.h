/* SPDX-License-Identifier: MIT
 *
 * What the native files of the hook share: storing an event, and the clocks. All of it is called
 * under the GIL, never fails visibly, and does nothing where no recorder listens. */
#ifndef STALLPROF_HOOK_EVENTS_H
#define STALLPROF_HOOK_EVENTS_H

#include <stdint.h>
#include <time.h>

/* ns of a clock, 0 where it cannot be read. A CPU clock costs 0.3 to 0.6 us, monotonic 0.03. */
uint64_t clockNs(clockid_t id);

/* The CPU clock of a thread of this process, by tid. */
clockid_t threadClock(long tid);

/* A thread's CPU in `duration`. It is read after the other clock and costs more than a short
 * duration: it may be ahead by that, or by what passed while the host stood still. */
static inline uint64_t cpuWithin(uint64_t cpu, uint64_t duration) {
  return cpu < duration ? cpu : duration;
}

/* Stores an event whose fields (event/event.h, without thread and process) are all integers, but
 * for the last where there is a `text`; NULL: none. */
void putNumbers(uint16_t kind, uint64_t at, const uint64_t* numbers, uint16_t count,
                const char* text);

/* Stores that what `source` sees is partial, and why (SourceState). */
void putSource(const char* source, const char* why);

#endif
