// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "trace/trace.h"

namespace stallprof {

// One look at a thread: an instant, what the thread was seen in, and its stack.
struct Look {
  Nanos at{};
  const StackSlice* stack = nullptr;  // null: none was seen
  Wait wait = Wait::kUnknown;
  // The time it stands for: since the look before, as the rate of looks changes with the recorder's
  // budget. At most kLongest of time without looks.
  Nanos stands{};
  static constexpr Nanos kLongest{1'000'000'000};
};

// Which slice a look at `at` belongs to: a slice's looks end at its end, and the stack is read some
// microseconds after the rest, so the nearest look counts.
class WaitAt {
 public:
  explicit WaitAt(const Table<ThreadSlice>& slices) : slices_(slices), cursor_(slices.begin()) {}
  Wait operator()(Nanos at) {
    while (cursor_ != slices_.end() && cursor_->end() < at) ++cursor_;
    if (cursor_ == slices_.end())
      return slices_.empty() ? Wait::kUnknown : slices_.back().data.wait;
    if (cursor_ != slices_.begin()) {
      const auto before = std::prev(cursor_);
      const Nanos period = cursor_->data.duration / std::max(1u, cursor_->data.looks);
      if (at - before->end() < period / 2) return before->data.wait;
    }
    return cursor_->data.wait;
  }

 private:
  const Table<ThreadSlice>& slices_;
  Table<ThreadSlice>::const_iterator cursor_;
};

// Looks in [begin, end) of one thread, in order.
template <class Visit>
void eachLook(const ThreadLife& thread, Nanos begin, Nanos end, Visit&& visit) {
  WaitAt waitAt(thread.slices);
  auto row = std::partition_point(thread.stacks.begin(), thread.stacks.end(),
                                  [&](const Timed<StackSlice>& s) { return s.end() < begin; });
  Nanos before = row == thread.stacks.begin() ? begin : std::max(begin, std::prev(row)->end());
  for (; row != thread.stacks.end() && row->at < end; ++row) {
    const std::uint32_t looks = std::max(1u, row->data.looks);
    const Nanos period = looks > 1 ? row->data.duration / (looks - 1) : Nanos{};
    for (std::uint32_t i = 0; i < looks; ++i) {
      const Nanos at = row->at + period * i;
      if (at < begin || at >= end) continue;
      const Nanos since = std::clamp(at - before, Nanos{}, std::max(period, Look::kLongest));
      visit(Look{at, &row->data, waitAt(at), since});
      before = at;
    }
  }
}

}  // namespace stallprof
