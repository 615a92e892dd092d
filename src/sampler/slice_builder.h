// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "event/event_out.h"

namespace stallprof {

// What a sample of a thread found.
struct Seen {
  Wait wait = Wait::kUnknown;
  StringId what;
  friend bool operator==(const Seen&, const Seen&) = default;
  [[nodiscard]] bool blocked() const { return wait != Wait::kRunning && wait != Wait::kUnknown; }
};

// The samples of one thread as ThreadSlices that lie end to end: run, queued and duration sum to
// what schedstat and the clock said, to the nanosecond. Pure but for the EventOut.
//
// A sample is an instant: it says what the thread did then, and nothing of the time before. A slice
// ends with its last sample and holds the interval since the sample before its first, so that its
// samples lie evenly in it, the last at its end; who counts samples counts each where it fell. A
// sample of a running thread is therefore kept as kRunning even where all of the time before it was
// blocked: giving it the class of the sample before would count that class twice. One label is one
// slice, ended when the label changes or after `longest` (a second, unless there are hundreds of
// threads). With a `window`, labels that alternate faster than that are gathered: the window's
// slices are emitted one a label, end to end in order of first appearance, so that a thread woken
// 100 times a second costs a few slices a second instead of 100; their sums stay exact, only the
// order within the window is lost.
//
// schedstat shows the time of a running thread in tick-sized jumps, so a figure may exceed the
// slice it arrives in: the excess is carried to the next one.
class SliceBuilder {
 public:
  static constexpr Nanos kLongest{1'000'000'000};

  void start(ThreadId thread, Nanos at);
  // `run` and `queued`: since the last sample. `now` not after the last sample adds no time.
  void sample(Nanos now, Nanos run, Nanos queued, const Seen& seen, EventOut& out);
  // Emits what is held back.
  void flush(EventOut& out);
  void setWindow(Nanos window) { window_ = window; }
  void setLongest(Nanos longest) { longest_ = longest; }
  [[nodiscard]] Nanos longest() const { return longest_; }
  // Time that no sample can explain: the end of a thread that died since, or a pause in which it
  // ran.
  void lose(Nanos now, EventOut& out, Nanos run = {}, Nanos queued = {});

  [[nodiscard]] ThreadId thread() const { return thread_; }
  [[nodiscard]] Nanos last() const { return last_; }
  // Slices emitted since the last call.
  [[nodiscard]] std::size_t takeEmitted();

 private:
  struct Part {
    Seen seen;
    Nanos duration{}, run{}, queued{};
    std::uint32_t samples = 0;
  };
  void add(const Seen& seen, Nanos duration, Nanos run, Nanos queued);
  void emit(Part& part, EventOut& out);

  ThreadId thread_;
  Nanos begin_{}, last_{}, window_{}, longest_ = kLongest;
  Nanos run_{}, queued_{};  // carried: reported by the kernel, not yet placed in a slice
  std::array<Part, 4> parts_;
  std::size_t used_ = 0, emitted_ = 0;
};

}  // namespace stallprof
