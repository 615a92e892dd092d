// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "analysis/facts/usage.h"
#include "present/html/picture/picture.h"

namespace stallprof {

// What happened in each bucket of a time axis: amounts are spread over the interval they are of.
class Buckets {
 public:
  explicit Buckets(const TimeAxis& axis)
      : begin_(axis.begin),
        each_(seconds(axis.end - axis.begin) /
              static_cast<double>(std::max<std::size_t>(axis.buckets, 1))),
        amounts_(axis.buckets, 0.0),
        known_(axis.buckets, false) {}

  void spread(Nanos from, Nanos to, double amount) {
    if (to <= from || amounts_.empty()) return;
    const double a = place(from), b = place(to);
    for (auto i = static_cast<std::size_t>(a); i < amounts_.size() && static_cast<double>(i) < b;
         ++i) {
      const double low = std::max(a, static_cast<double>(i));
      const double high = std::min(b, static_cast<double>(i) + 1);
      amounts_[i] += amount * (high - low) / (b - a);
      known_[i] = true;
    }
  }

  // A level that holds from one sample to the next: its mean over the bucket.
  void level(Nanos from, Nanos to, double value) { spread(from, to, value * seconds(to - from)); }
  // The same of amounts by the time that `covered` is of, where levels are not known of all of it.
  [[nodiscard]] std::vector<double> over(const Buckets& covered) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < amounts_.size(); ++i)
      out.push_back(covered.amounts_[i] > 0 ? amounts_[i] / covered.amounts_[i]
                                            : std::numeric_limits<double>::quiet_NaN());
    return out;
  }

  [[nodiscard]] Nanos begin() const { return begin_; }
  [[nodiscard]] bool any() const {
    return std::find(known_.begin(), known_.end(), true) != known_.end();
  }
  // A second's worth of each bucket.
  [[nodiscard]] std::vector<double> rates() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < amounts_.size(); ++i)
      out.push_back(known_[i] && each_ > 0 ? amounts_[i] / each_
                                           : std::numeric_limits<double>::quiet_NaN());
    return out;
  }

 private:
  [[nodiscard]] double place(Nanos at) const {
    if (each_ <= 0) return 0;
    return std::clamp(seconds(at - begin_) / each_, 0.0, static_cast<double>(amounts_.size()));
  }

  Nanos begin_;
  double each_;
  std::vector<double> amounts_;
  std::vector<bool> known_;
};

// The growth of a counter from each sample to the next; a process's first counts from its birth.
template <class P, class Field>
void spreadGrowth(Buckets& buckets, const Table<P>& table, Field field, double unit,
                  Nanos born = Nanos::max()) {
  const Timed<P>* last = nullptr;
  for (const auto& row : table) {
    const auto value = static_cast<double>(counter(row.data.*field));
    if (value < 0) continue;
    if (last != nullptr)
      buckets.spread(last->at, row.at,
                     std::max(0.0, value - static_cast<double>(counter(last->data.*field))) * unit);
    else if (born > buckets.begin() && born < row.at)  // older: its counters hold what was before
      buckets.spread(born, row.at, value * unit);
    last = &row;
  }
}

template <class P, class Field>
void spreadLevel(Buckets& buckets, const Table<P>& table, Field field, Nanos end) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto value = static_cast<double>(table[i].data.*field);
    if (value >= 0) buckets.level(table[i].at, i + 1 < table.size() ? table[i + 1].at : end, value);
  }
}

inline void keep(Panel& panel, const char* name, Hue hue, const Buckets& buckets) {
  if (buckets.any()) panel.series.push_back({name, hue, buckets.rates()});
}

}  // namespace stallprof
