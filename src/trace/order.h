// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace stallprof {

// The places of `times` in their order, equal ones as they are.
[[nodiscard]] std::vector<std::uint32_t> orderOf(const std::vector<Nanos>& times);

// Stable. Not a std::stable_sort of rows, which for some 35 kinds of rows takes 10 s to compile.
template <class P>
void sortByTime(Table<P>& table) {
  bool sorted = true;
  for (std::size_t i = 1; i < table.size() && sorted; ++i) sorted = table[i - 1].at <= table[i].at;
  if (sorted) return;
  std::vector<Nanos> times;
  for (const Timed<P>& row : table) times.push_back(row.at);
  Table<P> inOrder;
  inOrder.reserve(table.size());
  for (const std::uint32_t place : orderOf(times)) inOrder.push_back(table[place]);
  table = std::move(inOrder);
}

// By time. Where two slices overlap the earlier one keeps its interval.
void removeOverlap(Table<ThreadSlice>& slices);

}  // namespace stallprof
