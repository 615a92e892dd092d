// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/facts/analysis.h"
#include "trace/trace.h"

// Cumulative counters of the trace, read at any instant. A counter is -1 where it was not known;
// between two samples it is taken as even.
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

// Less than this share of an interval between samples says nothing of the rest of it.
inline constexpr double kMinCovered = 0.5;

// `grown` between samples that cover `known` of `whole`: the rest at the same pace, where they
// cover half of it. Samples come once a second, and the last of a short run may be that long before
// its end.
[[nodiscard]] inline double atSamePace(double grown, Nanos known, Nanos whole) {
  if (known >= whole || seconds(known) < kMinCovered * seconds(whole)) return grown;
  return grown * (seconds(whole) / seconds(known));
}

// When the counter was first and last known; null where never.
template <class P, class Field>
[[nodiscard]] Maybe<std::pair<Nanos, Nanos>> knownIn(const Table<P>& table, Field field) {
  const auto known = [&](const Timed<P>& row) { return counter(row.data.*field) >= 0; };
  const auto first = std::find_if(table.begin(), table.end(), known);
  if (first == table.end()) return std::nullopt;
  const auto last = std::find_if(table.rbegin(), table.rend(), known);
  return std::pair(first->at, last->at);
}

// How much the counter grew in the interval: null where it was never known.
template <class P, class Field>
[[nodiscard]] Maybe<double> growth(const Table<P>& table, Field field, const Interval& within) {
  const auto known = knownIn(table, field);
  if (!known) return std::nullopt;
  const Maybe<double> a = valueAt(table, field, within.begin),
                      b = valueAt(table, field, within.end);
  const Nanos covered = std::min(within.end, known->second) - std::max(within.begin, known->first);
  return atSamePace(std::max(0.0, *b - *a), covered, within.length());
}

// As growth, of a process in the part of the interval it lived; one that began inside it began with
// counters at 0.
template <class Field>
[[nodiscard]] Maybe<double> used(const ProcessLife& process, const Table<ProcessUsage>& rows,
                                 Field field, const Interval& within) {
  if (rows.empty()) return std::nullopt;
  const Nanos end = std::min(within.end, process.gone);
  const bool born = process.seen > within.begin && process.seen < end;
  const auto known = knownIn(rows, field);
  if (!known || !born)
    return growth(rows, field, Interval{within.begin, std::max(within.begin, end)});
  const double read = std::max(0.0, *valueAt(rows, field, end));
  if (end < known->first)
    return read * (seconds(end - process.seen) / seconds(known->first - process.seen));
  return atSamePace(read, std::min(end, known->second) - process.seen, end - process.seen);
}
template <class Field>
[[nodiscard]] Maybe<double> used(const ProcessLife& process, Field field, const Interval& within) {
  return used(process, process.usage, field, within);
}

// All of its life, as far as it was seen, with what it is taken to have used from its last sample
// until its end.
template <class Field>
[[nodiscard]] Maybe<double> usedInLife(const ProcessLife& process, Field field) {
  return used(process, field, {process.seen - Nanos{1}, process.gone});
}

// A share or a rate: null where the value is not known, or there is nothing to divide by.
[[nodiscard]] inline Maybe<double> per(Maybe<double> value, double divisor) {
  if (!value || divisor <= 0) return std::nullopt;
  return *value / divisor;
}

// Processes of the run's control group that the kernel killed for want of memory.
[[nodiscard]] inline std::int64_t killedForMemory(const Trace& trace) {
  Maybe<std::int64_t> first;
  std::int64_t last = 0;
  for (const auto& row : trace.cgroups) {
    if (row.data.oomKills < 0) continue;
    if (!first) first = row.data.oomKills;
    last = row.data.oomKills;
  }
  return first ? std::max<std::int64_t>(0, last - *first) : 0;
}

// CPU of all threads of a process in the interval; 0 where it was not seen.
[[nodiscard]] inline Nanos cpuIn(const ProcessLife& process, const Interval& within) {
  return Nanos(static_cast<Nanos::rep>(used(process, &ProcessUsage::cpu, within).value_or(0)));
}

}  // namespace stallprof
