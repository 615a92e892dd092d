// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"

namespace stallprof {

// What of a device's work excuses what: a copy beside a kernel is hidden, and so is a collective.
enum class BusyWith : std::uint8_t { kCompute, kCollective, kCopy };

// Times in ns of CLOCK_MONOTONIC; see DeviceSpan (event/device_events.h).
struct BusySpan {
  std::int64_t begin = 0, end = 0;
  std::int64_t busy = 0, copyOnly = 0, collectiveOnly = 0;
  std::uint32_t works = 0;
};

// The exact union of one device's work over its streams. Work comes in any order; what is older
// than the time settled is final, but for work that comes late (a kernel that ran longer than a
// flush): of it the parts that no span has become spans of their own.
class BusyUnion {
 public:
  void add(std::int64_t begin, std::int64_t end, BusyWith with);
  // Appends the spans of all that is before `until`, joined over gaps shorter than `gap`, or wider
  // ones where there would be more than `limit`; what reaches beyond is cut there and goes on in
  // the next.
  void settle(std::int64_t until, std::int64_t gap, std::size_t limit, std::vector<BusySpan>& out);

  [[nodiscard]] std::size_t pending() const { return work_.size(); }
  // A time before which half of the pending work began.
  [[nodiscard]] std::int64_t middle();
  // ns of late work that is older than what is remembered of settled spans, since the last call.
  [[nodiscard]] std::int64_t takeLost();

 private:
  // 16 bytes: a second of 250,000 works waits for its flush.
  class Work {
   public:
    Work(std::int64_t from, std::int64_t to, BusyWith with, bool goesOn)
        : begin(from),
          packed_(std::min(to, kMaxEnd) * 8 + static_cast<std::int64_t>(with) * 2 + goesOn) {}
    [[nodiscard]] std::int64_t end() const { return packed_ >> 3; }
    [[nodiscard]] BusyWith with() const { return static_cast<BusyWith>(packed_ >> 1 & 3); }
    // It began in an earlier settlement.
    [[nodiscard]] bool goesOn() const { return (packed_ & 1) != 0; }
    std::int64_t begin;

   private:
    static constexpr std::int64_t kMaxEnd = (std::int64_t{1} << 59) - 1;  // 18 years of uptime
    std::int64_t packed_;
  };
  void settleLate(std::vector<BusySpan>& out);
  void lateWork(const Work& work, std::vector<BusySpan>& out);
  void sort();
  void replace(std::vector<Work>::iterator until, const std::vector<Work>& left);
  void remember(const std::vector<BusySpan>& spans, std::size_t from);

  struct Emitted {
    std::int64_t begin, end;
  };
  std::vector<Work> work_;
  std::deque<Emitted> emitted_;  // ordered, disjoint
  std::int64_t settled_ = INT64_MIN, lost_ = 0;
  std::int64_t oldest_ = INT64_MIN;  // emitted_ is complete from here on
  bool sorted_ = true;
};

// Joins neighbours over the narrowest gaps until at most `limit` spans are left in [from, end).
void thinSpans(std::vector<BusySpan>& spans, std::size_t from, std::size_t limit);

}  // namespace stallprof
