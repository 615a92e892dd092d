// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "trace/trace.h"

namespace stallprof {

template <class P>
void sortByTime(Table<P>& table) {
  const auto earlier = [](const Timed<P>& a, const Timed<P>& b) { return a.at < b.at; };
  if (!std::is_sorted(table.begin(), table.end(), earlier))
    std::stable_sort(table.begin(), table.end(), earlier);
}

// `amount` of `whole` in its part `part`; 0 where there is no whole.
[[nodiscard]] Nanos scaled(Nanos amount, Nanos part, Nanos whole);

// By time. What slices say twice is believed once: the earlier slice keeps its stretch.
void removeOverlap(Table<ThreadSlice>& slices);

}  // namespace stallprof
