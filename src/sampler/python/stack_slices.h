// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "event/event_out.h"

namespace stallprof::python {

struct StackAt {
  Nanos at{};  // 0: never
  StackId stack;
};

// The samples of one thread's stack as StackSlices: samples in a row that saw the same are one.
class StackSlices {
 public:
  struct Saw {
    StackId stack;
    Gil gil = Gil::kUnknown;
    bool gc = false;
    friend bool operator==(const Saw&, const Saw&) = default;
  };
  static constexpr Nanos kLongest{1'000'000'000}, kLongestAsleep{10'000'000'000};

  // A sample at `now` that saw `saw`.
  void sample(ThreadId thread, Nanos now, Nanos period, const Saw& saw, EventOut& out) {
    // A hole (samples left out, or none could be read) must not be reported as if it had been seen.
    before_ = last_;
    sawBefore_ = saw_.stack;
    const bool follows = samples_ > 0 && now - last_ <= 2 * period;
    if (!follows || !(saw == saw_) || now - begin_ > kLongest) flush(thread, out);
    if (samples_ == 0) begin_ = changed_ = now;
    saw_ = saw;
    last_ = now;
    ++samples_;
  }
  // The thread has not run since the last sample: it was seen all the time since. A slice lasts
  // for `minimum` at least.
  void stillBlocked(ThreadId thread, Nanos now, Nanos period, Nanos minimum, EventOut& out) {
    if (samples_ == 0 || now <= last_) return;
    const Nanos longest =
        std::max(now - changed_ > kLongestAsleep ? kLongestAsleep : kLongest, minimum);
    const auto samples = (now - last_ + period / 2) / period;
    if (now - begin_ > longest) {
      const Nanos since = changed_;
      flush(thread, out);
      begin_ = last_ + period;
      changed_ = since;
      samples_ = static_cast<std::uint32_t>(std::max<Nanos::rep>(samples, 1));
      begin_ = std::min(begin_, now);
    } else {
      samples_ += static_cast<std::uint32_t>(std::max<Nanos::rep>(samples, 1));
    }
    last_ = now;
  }
  void flush(ThreadId thread, EventOut& out) {
    if (samples_ == 0) return;
    out.emit(begin_, StackSlice{thread, saw_.stack, last_ - begin_, std::exchange(samples_, 0u),
                                saw_.gil, saw_.gc});
    ++emitted_;
  }
  // The latest sample, at time zero if there was none.
  [[nodiscard]] Nanos lastAt() const { return last_; }
  [[nodiscard]] StackId lastStack() const { return saw_.stack; }
  // Since when every sample has seen what the latest saw.
  [[nodiscard]] Nanos sameSince() const { return samples_ > 0 ? changed_ : last_; }
  // The one before it.
  [[nodiscard]] Nanos beforeAt() const { return before_; }
  [[nodiscard]] StackId stackBefore() const { return sawBefore_; }
  [[nodiscard]] std::size_t takeEmitted() { return std::exchange(emitted_, 0); }

 private:
  Nanos begin_{}, last_{}, changed_{}, before_{};
  StackId sawBefore_;
  Saw saw_;
  std::uint32_t samples_ = 0;
  std::size_t emitted_ = 0;
};

}  // namespace stallprof::python
