// SPDX-License-Identifier: MIT
#include "base/interval.h"

namespace stallprof {

Intervals joined(Intervals any) {
  std::sort(any.begin(), any.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals out;
  for (const Interval& i : any) {
    if (i.empty()) continue;
    if (!out.empty() && i.begin <= out.back().end)
      out.back().end = std::max(out.back().end, i.end);
    else
      out.push_back(i);
  }
  return out;
}

Nanos lengthIn(const Intervals& all, const Interval& within) {
  Nanos sum{};
  divide(all, within, [&](const Interval& piece, bool inside) {
    if (inside) sum += piece.length();
  });
  return sum;
}

bool containsAny(const Intervals& all, Nanos t) {
  const auto next =
      std::partition_point(all.begin(), all.end(), [&](const Interval& i) { return i.end <= t; });
  return next != all.end() && next->begin <= t;
}

}  // namespace stallprof
