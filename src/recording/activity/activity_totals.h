// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallprof {

// Totals by key for each second of CLOCK_MONOTONIC, while its last records may still come. What
// comes for a second that was reported is reported once more, alone: totals of one second add up.
template <class Total>
class SecondTotals {
 public:
  struct Entry {
    std::uint64_t key = 0;
    Total total;
    bool used = false;
  };

  // The total of `key` in the second that `instant` is in, null when that second has kLimit others.
  Total* at(std::int64_t instant, std::uint64_t key) {
    Second& second = secondOf(instant / kSecond);
    if ((second.count + 1) * 4 > second.entries.size() * 3) {
      if (second.count >= kLimit) return findIn(second, key);
      grow(second);
    }
    Entry& entry = slot(second.entries, key);
    if (!entry.used) {
      entry.used = true;
      entry.key = key;
      ++second.count;
    }
    return &entry.total;
  }

  // Calls emit(begin of the second, its used entries in no order) for seconds that end by `until`,
  // oldest first.
  template <class Emit>
  void settle(std::int64_t until, Emit emit) {
    while (!seconds_.empty()) {
      std::size_t oldest = 0;
      for (std::size_t i = 1; i < seconds_.size(); ++i)
        if (seconds_[i].number < seconds_[oldest].number) oldest = i;
      if (seconds_[oldest].number + 1 > until / kSecond) return;
      Second second = std::move(seconds_[oldest]);
      seconds_.erase(seconds_.begin() + static_cast<std::ptrdiff_t>(oldest));
      last_ = 0;
      std::vector<Entry*> used;
      for (Entry& entry : second.entries)
        if (entry.used) used.push_back(&entry);
      emit(second.number * kSecond, used);
    }
  }

  static constexpr std::int64_t kSecond = 1'000'000'000;
  static constexpr std::size_t kLimit = 16'384;

 private:
  struct Second {
    std::int64_t number = 0;
    std::size_t count = 0;
    std::vector<Entry> entries = std::vector<Entry>(64);
  };

  static std::size_t hash(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(key ^ (key >> 32));
  }
  static Entry& slot(std::vector<Entry>& entries, std::uint64_t key) {
    const std::size_t mask = entries.size() - 1;
    std::size_t i = hash(key) & mask;
    while (entries[i].used && entries[i].key != key) i = (i + 1) & mask;
    return entries[i];
  }
  static Total* findIn(Second& second, std::uint64_t key) {
    Entry& entry = slot(second.entries, key);
    return entry.used ? &entry.total : nullptr;
  }
  static void grow(Second& second) {
    std::vector<Entry> larger(second.entries.size() * 2);
    for (Entry& entry : second.entries)
      if (entry.used) slot(larger, entry.key) = entry;
    second.entries.swap(larger);
  }
  Second& secondOf(std::int64_t number) {
    if (last_ < seconds_.size() && seconds_[last_].number == number) return seconds_[last_];
    for (last_ = 0; last_ < seconds_.size(); ++last_)
      if (seconds_[last_].number == number) return seconds_[last_];
    seconds_.emplace_back().number = number;
    return seconds_[last_];
  }

  std::vector<Second> seconds_;
  std::size_t last_ = 0;
};

}  // namespace stallprof
