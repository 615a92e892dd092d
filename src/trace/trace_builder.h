// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/interval.h"
#include "base/result.h"
#include "base/text.h"
#include "trace/coarsener.h"
#include "trace/trace.h"

namespace stallprof {

// What a reader of a run's part needs no longer: rows of what the program did that ended before
// `until`, but for those in an interval of `kept`. What says which processes, threads, iterators,
// checkpoints and collectives there are always stays.
struct RowsDone {
  Nanos until{};
  std::vector<Interval> kept;
};

class TraceBuilder;
// Feeds some more events to the builder, a frame's worth or so. False: there are no more.
using EventSource = std::function<Result<bool>(TraceBuilder&)>;

// The recording at `directory`. Damage inside it is a Loss of the trace; an Error means there is
// nothing to read: no such directory, not a recording, or of another version. `maps` say what
// ranges mean (range_map.h) after those that the run was given.
[[nodiscard]] EventSource recordingEvents(const std::string& directory,
                                          const std::vector<Untrusted>& maps = {});

// Turns a stream of events into a sealed Trace. Whatever order events come in, and whatever is
// missing, repeated or damaged among them, the result holds what trace.h promises: tables sorted by
// time, slices of a thread that do not overlap, a life for every id up to the greatest. What cannot
// be (a time before the beginning, an id past kMaxLives) is dropped and counted as a Loss. What
// grows with the run's length alone stays within `bounds`; rows of what the program did stay there
// where the caller, whenever the builder is `full`, reads the `part` and releases its rows. A short
// run is one part. Use once: take all, seal. Not thread-safe.
class TraceBuilder {
 public:
  // An hour of 100 new processes a second stays below.
  static constexpr std::uint32_t kMaxLives = 1u << 20;
  // A life takes some 100 bytes, and ids are given one by one: those that the events so far cannot
  // have led to, even where so many lives before them were lost, are damage.
  static constexpr std::uint32_t kMaxLivesLost = 1u << 17;
  // A recorder makes at most half of these.
  static constexpr std::uint32_t kMaxStacks = 1u << 17;
  // Of one slice: a recorder makes at most 60,000, in a minute at 1,000 a second.
  static constexpr std::uint32_t kMaxSamples = 1u << 16;

  explicit TraceBuilder(const TraceBounds& bounds = {})
      : coarsener_(bounds), max_(bounds.program), next_(max_) {}
  TraceBuilder(const TraceBuilder&) = delete;  // a source may hold on to it
  TraceBuilder& operator=(const TraceBuilder&) = delete;

  // The table the string ids of taken events are of.
  [[nodiscard]] Strings& strings() { return trace_.strings; }
  [[nodiscard]] Manifest& manifest() { return trace_.manifest; }
  void setCleanEnd(bool clean) { trace_.cleanEnd = clean; }

  // So many events of the same recording, that are not taken, came before.
  void comesAfter(std::uint64_t events) { events_ += events; }
  void take(const Event& event);
  // How much of the recording has been taken, 0 to 1, about: tables grow to what is still to come.
  void setProgress(double taken) { progress_ = taken; }
  // Takes events until it is full (true), or there are no more.
  [[nodiscard]] Result<bool> fill(const EventSource& events);
  // It holds more than TraceBounds::program rows of what the program did: time to read a part.
  // Where little was released, there are at least twice as many before it is full again.
  [[nodiscard]] bool full() const { return program_ > next_; }
  // The trace as far as it has come, sorted as a sealed one is; valid until the next call.
  [[nodiscard]] const Trace& part();
  void release(const RowsDone& done);
  // Never full again: for a run that cannot be read in parts.
  void keepAll() { next_ = SIZE_MAX; }
  [[nodiscard]] Trace seal();

 private:
  template <class P>
  void keep(Nanos at, const P& payload);
  void keep(Nanos at, const ProcessSeen& payload);
  void keep(Nanos at, const ProcessGone& payload);
  void keep(Nanos at, const ThreadSeen& payload);
  void keep(Nanos at, const ThreadGone& payload);
  void keep(Nanos at, const ThreadSlice& payload);
  void keep(Nanos at, const ProcessUsage& payload);
  void keep(Nanos at, const StackSeen& payload);
  void keep(Nanos at, const StackSlice& payload);
  void keep(Nanos at, const NativeSlice& payload);
  [[nodiscard]] std::uint64_t plausible() const { return kMaxLivesLost + events_; }
  ProcessLife* life(ProcessId id);
  ThreadLife* life(ThreadId id);
  // What is of that life is dropped, and counted as what it is.
  template <class LifeId>
  void lose(LifeId id) {
    ++(id.value > kMaxLives ? beyond_ : damaged_);
  }
  template <class LifeId>
  void end(LifeId id, Nanos at);
  template <class Slice>
  void addSample(std::vector<Timed<Slice>> ThreadLife::*samples, Nanos at, const Slice& slice);
  template <class P>
  void append(std::vector<Timed<P>>& table, Nanos at, const P& payload);
  void cover(Nanos begin, Nanos end);
  void settle();

  Trace trace_;
  Coarsener coarsener_;
  double progress_ = 1;
  std::size_t program_ = 0, max_, next_;  // rows of what the program did
  bool covered_ = false;
  std::uint64_t events_ = 0;  // of the recording so far
  std::uint64_t damaged_ = 0, beyond_ = 0;
};

}  // namespace stallprof
