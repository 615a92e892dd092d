// SPDX-License-Identifier: MIT
#include "trace/order.h"

namespace stallprof {

Nanos scaled(Nanos amount, Nanos part, Nanos whole) {
  if (whole <= Nanos{0}) return Nanos{0};
  return Nanos(static_cast<Nanos::rep>(static_cast<__int128>(amount.count()) * part.count() /
                                       whole.count()));
}

void removeOverlap(Table<ThreadSlice>& slices) {
  sortByTime(slices);
  Nanos covered = Nanos::min();
  std::size_t kept = 0;
  for (Timed<ThreadSlice>& slice : slices) {
    const Nanos end = slice.end();
    if (end <= covered) continue;
    if (slice.at < covered) {
      ThreadSlice& s = slice.data;
      const Nanos left = end - covered;
      s.run = scaled(s.run, left, s.duration), s.queued = scaled(s.queued, left, s.duration);
      s.looks = static_cast<std::uint32_t>(scaled(Nanos{s.looks}, left, s.duration).count());
      s.duration = left, slice.at = covered;
    }
    covered = end;
    slices[kept++] = slice;
  }
  slices.resize(kept);
}

}  // namespace stallprof
