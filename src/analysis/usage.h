// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "analysis/analysis.h"
#include "trace/trace.h"

// Cumulative counters of the trace, read at any instant. A counter is -1 where it was not known;
// between two looks it is taken as even.
namespace stallprof {

[[nodiscard]] constexpr std::int64_t counter(Nanos value) { return value.count(); }
[[nodiscard]] constexpr std::int64_t counter(std::int64_t value) { return value; }

// The counter `field` at `at`; outside the table, its first or last known value.
template <class P, class Field>
[[nodiscard]] Maybe<double> valueAt(const Table<P>& table, Field field, Nanos at) {
  auto after = std::upper_bound(table.begin(), table.end(), at,
                                [](Nanos t, const Timed<P>& row) { return t < row.at; });
  const Timed<P>* low = nullptr;
  const Timed<P>* high = nullptr;
  for (auto row = after; row != table.begin() && !low;)
    if (counter((--row)->data.*field) >= 0) low = &*row;
  for (auto row = after; row != table.end() && !high; ++row)
    if (counter(row->data.*field) >= 0) high = &*row;
  if (!low && !high) return std::nullopt;
  if (!low || !high) return static_cast<double>(counter((low ? low : high)->data.*field));
  const double a = static_cast<double>(counter(low->data.*field));
  const double b = static_cast<double>(counter(high->data.*field));
  return a + (b - a) * (seconds(at - low->at) / seconds(high->at - low->at));
}

// How much the counter grew in [begin, end): null where it was never known.
template <class P, class Field>
[[nodiscard]] Maybe<double> growth(const Table<P>& table, Field field, Nanos begin, Nanos end) {
  const Maybe<double> a = valueAt(table, field, begin), b = valueAt(table, field, end);
  if (!a || !b) return std::nullopt;
  return std::max(0.0, *b - *a);
}

// As growth, of a process that may have begun inside the stretch: its counters began at 0.
template <class Field>
[[nodiscard]] Maybe<double> used(const ProcessLife& process, Field field, Nanos begin, Nanos end) {
  Maybe<double> grown = growth(process.usage, field, begin, end);
  if (grown && !process.usage.empty() && process.seen > begin && process.seen < end)
    grown = valueAt(process.usage, field, end);
  return grown;
}

// CPU of all threads of a process in the stretch; 0 where it was not seen.
[[nodiscard]] inline Nanos cpuBetween(const ProcessLife& process, Nanos begin, Nanos end) {
  return Nanos(static_cast<Nanos::rep>(used(process, &ProcessUsage::cpu, begin, end).value_or(0)));
}

}  // namespace stallprof
