// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>

#include "trace/trace.h"

namespace stallprof {

// One sample of a thread: an instant, what the thread was seen in, and its stack.
struct Sample {
  Nanos at{};
  const StackSlice* stack = nullptr;  // null: none was seen
  Wait wait = Wait::kUnknown;
  // The time since the sample before, as the sampling rate changes with the recorder's budget. At
  // most kLongest of time without samples (of a long run, of which not all are held, more), and
  // none of a pause: its time is divided as the other.
  Nanos weight{};
  std::uint32_t count = 1;  // samples, of eachRun
  static constexpr Nanos kLongest{1'000'000'000};
};

// Which slice a stack sample at `at` belongs to. A slice's last sample is at its end, and the stack
// is read some microseconds after the thread's state, so the nearest sample counts.
class WaitAt {
 public:
  explicit WaitAt(const Table<ThreadSlice>& slices) : slices_(slices), cursor_(slices.begin()) {}
  // To be asked in order of time.
  Wait operator()(Nanos at) {
    if (at > until_) find(at);
    return wait_;
  }

 private:
  // Of a pause: no sample was in it.
  [[nodiscard]] static bool unseen(const Timed<ThreadSlice>& slice) {
    return slice.data.samples == 0 && slice.data.wait == Wait::kUnknown;
  }
  void find(Nanos at) {
    while (cursor_ != slices_.end() && (cursor_->end() < at || unseen(*cursor_))) advance();
    const bool last = cursor_ == slices_.end(), before = !last && at < beforeUntil_;
    until_ = last ? Nanos::max() : before ? beforeUntil_ - Nanos{1} : cursor_->end();
    if (!last || !slices_.empty())
      wait_ = (last || before ? std::prev(cursor_) : cursor_)->data.wait;
  }
  void advance() {
    const bool nothing = unseen(*cursor_);
    const Nanos end = cursor_->end();
    if (++cursor_ == slices_.end()) return;
    beforeUntil_ = nothing ? Nanos::min()
                           : end + cursor_->data.duration / std::max(1u, cursor_->data.samples) / 2;
  }

  const Table<ThreadSlice>& slices_;
  Table<ThreadSlice>::const_iterator cursor_;
  Nanos beforeUntil_ = Nanos::min();  // the slice before the cursor is nearer
  Wait wait_ = Wait::kUnknown;
  Nanos until_ = Nanos::min();  // `wait_` is the answer
};

// How much of an interval sampling was paused. To be asked in order of time.
class PausedTime {
 public:
  explicit PausedTime(const Table<SamplingPause>& pauses)
      : next_(pauses.begin()), end_(pauses.end()) {}
  [[nodiscard]] bool any() const { return next_ != end_; }
  [[nodiscard]] Nanos in(const Interval& interval) {
    while (next_ != end_ && next_->end() <= interval.begin) ++next_;
    Nanos sum{};
    for (auto pause = next_; pause != end_ && pause->at < interval.end; ++pause)
      sum += overlap(intervalOf(*pause), interval);
    return sum;
  }

 private:
  Table<SamplingPause>::const_iterator next_, end_;
};

// The slices of a thread's stacks that have samples in [begin, end), in order: visit(row, how
// many).
template <class Visit>
void eachSlice(const ThreadLife& thread, Nanos begin, Nanos end, Visit&& visit) {
  for (const Timed<StackSlice>& row : thread.stacks) {
    if (row.at >= end) return;
    if (row.end() < begin) continue;
    const std::uint32_t samples = std::max(1u, row.data.samples);
    const Nanos period = samples > 1 ? row.data.duration / (samples - 1) : Nanos{};
    std::uint32_t count = samples;
    if (row.at < begin || row.end() >= end)
      for (std::uint32_t i = 0; i < samples; ++i)
        count -= row.at + period * i < begin || row.at + period * i >= end;
    if (count > 0) visit(row, count);
  }
}

// Samples in [begin, end) of one thread of the trace, in order; not of the time in which it was
// stopped.
template <class Visit>
void eachSample(const Trace& trace, const ThreadLife& thread, Nanos begin, Nanos end,
                Visit&& visit) {
  WaitAt waitAt(thread.slices);
  PausedTime paused(trace.pauses);
  auto row = std::partition_point(thread.stacks.begin(), thread.stacks.end(),
                                  [&](const Timed<StackSlice>& s) { return s.end() < begin; });
  // Samples of a long run are kept at instants that are drawn: few gaps are longer than this.
  const Nanos longest = 4 * trace.sampledEvery;
  // Its first sample stands for no time before the thread itself.
  Nanos before =
      std::max(begin, row == thread.stacks.begin() ? thread.seen : std::prev(row)->end());
  for (; row != thread.stacks.end() && row->at < end; ++row) {
    const std::uint32_t samples = std::max(1u, row->data.samples);
    const Nanos period = samples > 1 ? row->data.duration / (samples - 1) : Nanos{};
    Nanos at = row->at;
    for (std::uint32_t i = 0; i < samples; ++i, at += period) {
      if (at < begin || at >= end) continue;
      Nanos since = at - std::exchange(before, at);
      if (paused.any()) since -= paused.in({at - since, at});
      const Wait wait = waitAt(at);
      if (wait == Wait::kStopped) continue;
      visit(Sample{at, &row->data, wait,
                   std::clamp(since, Nanos{}, std::max({period, Sample::kLongest, longest}))});
    }
  }
}

// The samples for which `keep(sample)` holds, in runs: those that follow each other with the same
// slice of the stack, wait and weight are one sample with their count, at the first one's instant.
template <class Keep, class Visit>
void eachRun(const Trace& trace, const ThreadLife& thread, Nanos begin, Nanos end, Keep&& keep,
             Visit&& visit) {
  Sample run;
  run.count = 0;
  eachSample(trace, thread, begin, end, [&](const Sample& sample) {
    if (!keep(sample)) return;
    if (run.count > 0 && run.stack == sample.stack && run.wait == sample.wait &&
        run.weight == sample.weight) {
      ++run.count;
      return;
    }
    if (run.count > 0) visit(run);
    run = sample;
  });
  if (run.count > 0) visit(run);
}

}  // namespace stallprof
