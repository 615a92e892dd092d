// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "base/time.h"

namespace stallprof {

// Half-open: [begin, end).
struct Interval {
  Nanos begin{}, end{};

  [[nodiscard]] Nanos length() const { return end - begin; }
  [[nodiscard]] bool empty() const { return end <= begin; }
  [[nodiscard]] bool contains(Nanos t) const { return begin <= t && t < end; }
  // All of `other`.
  [[nodiscard]] bool contains(const Interval& other) const {
    return begin <= other.begin && other.end <= end;
  }
  [[nodiscard]] bool overlaps(const Interval& other) const {
    return begin < other.end && other.begin < end;
  }
  friend bool operator==(const Interval&, const Interval&) = default;
};
using Intervals = std::vector<Interval>;  // by time, none touching the next

// What is in both; empty where they do not overlap.
[[nodiscard]] inline Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
[[nodiscard]] inline Nanos overlap(const Interval& a, const Interval& b) {
  return std::max(Nanos{}, intersect(a, b).length());
}
// Whether one of `any`, in whatever order, overlaps `interval`.
[[nodiscard]] inline bool overlapsAny(const std::vector<Interval>& any, const Interval& interval) {
  return std::any_of(any.begin(), any.end(),
                     [&](const Interval& i) { return i.overlaps(interval); });
}

// Any intervals as their union.
[[nodiscard]] Intervals joined(Intervals any);
// How much of `within` lies inside `all`.
[[nodiscard]] Nanos lengthIn(const Intervals& all, const Interval& within);
[[nodiscard]] bool containsAny(const Intervals& all, Nanos t);

// What `divide` takes an item's time from; other types have their own overload.
[[nodiscard]] inline const Interval& intervalOf(const Interval& i) { return i; }

// `within` as pieces, each inside one item or outside of all: visit(piece, item), with a null item
// outside. Items are sorted by time and do not overlap each other.
template <class Items, class Visit>
void divide(const Items& items, Interval within, Visit&& visit) {
  auto next = std::partition_point(items.begin(), items.end(), [&](const auto& item) {
    return intervalOf(item).end <= within.begin;
  });
  for (; !within.empty(); ++next) {
    const typename Items::value_type* none = nullptr;
    if (next == items.end()) return visit(within, none);
    const Interval inside = intersect(intervalOf(*next), within);
    const Interval before{within.begin, std::min(inside.begin, within.end)};
    if (!before.empty()) visit(before, none);
    if (!inside.empty()) {
      const auto* item = &*next;
      visit(inside, item);
    }
    within.begin = std::max(before.end, inside.end);
  }
}

// Intervals that do not overlap: of two that do, the one taken first is kept.
class DisjointIntervals {
 public:
  // Takes [begin, end) and says so, unless it overlaps one already taken.
  bool take(Nanos begin, Nanos end) {
    const auto after = taken_.lower_bound(end);
    if (after != taken_.begin() && std::prev(after)->second > begin) return false;
    taken_.emplace(begin, end);
    return true;
  }

 private:
  std::map<Nanos, Nanos> taken_;  // begin -> end
};

}  // namespace stallprof
