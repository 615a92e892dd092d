// SPDX-License-Identifier: MIT
#include "trace/trace.h"

#include <algorithm>
#include <numeric>

namespace stallprof {
namespace {

template <class Life, class LifeId>
const Life& lifeOf(const std::vector<Life>& lives, LifeId id) {
  static const Life kNobody{};
  if (id.none() || id.value > lives.size()) return kNobody;
  return lives[id.value - 1];
}

}  // namespace

const ProcessLife& Trace::process(ProcessId id) const { return lifeOf(processes, id); }
const ThreadLife& Trace::thread(ThreadId id) const { return lifeOf(threads, id); }
const StackSeen& Trace::stack(StackId id) const { return lifeOf(stacks, id).data; }

std::vector<std::uint32_t> orderOf(const std::vector<Nanos>& times) {
  std::vector<std::uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return times[a] < times[b]; });
  return order;
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
      s.run = proportion(s.run, left, s.duration);
      s.queued = proportion(s.queued, left, s.duration);
      s.samples =
          static_cast<std::uint32_t>(proportion(Nanos{s.samples}, left, s.duration).count());
      s.duration = left;
      slice.at = covered;
    }
    covered = end;
    slices[kept++] = slice;
  }
  slices.resize(kept);
}

}  // namespace stallprof
