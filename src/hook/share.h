/* SPDX-License-Identifier: MIT */
#ifndef STALLPROF_HOOK_SHARE_H
#define STALLPROF_HOOK_SHARE_H

#include <limits.h>
#include <stdint.h>

/* What a part is of the whole, by all that was measured; what was long ago weighs less. The first
   is forgotten at the second: a first batch opens files and starts threads. */
struct share {
  double part, whole;
  int measured; /* how many times */
};
static inline void addToShare(struct share* s, uint64_t part, uint64_t whole) {
  static const double kWeight = 1.0 / 32; /* of the newest */
  if (s->measured == 1) s->part = s->whole = 0;
  if (s->measured < INT_MAX) ++s->measured;
  s->part += (double)part - s->part * kWeight;
  s->whole += (double)whole - s->whole * kWeight;
}
static inline uint64_t partOf(const struct share* s, uint64_t whole) {
  return s->whole > 0 ? (uint64_t)(s->part / s->whole * (double)whole) : 0;
}

#endif
