// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "trace/coarsener.h"
#include "trace/trace.h"

namespace stallprof {

// What a reader of a long run is done with: rows of what the program did that ended by `until`, but
// for those in the `whole` stretches. What tells of lives, passes, checkpoints and collectives
// always stays.
struct ReadSoFar {
  Nanos until{};
  std::vector<std::pair<Nanos, Nanos>> whole;
};
// Is given the trace as far as it has come, sealed, whenever it holds TraceBounds::program rows.
using PartReader = std::function<ReadSoFar(const Trace&)>;

// Turns a stream of events into a sealed Trace. Whatever order events come in, and whatever is
// missing, repeated or damaged among them, the result holds what trace.h promises: tables sorted by
// time, slices of a thread that do not overlap, a life for every id up to the greatest. What cannot
// be (a time before the beginning, an id past kMostLives) is dropped and counted as a Loss. What
// grows with the run's length alone stays within `bounds`, rows of what the program did where there
// is a `reader` of them.
// Use once: take all, seal. Not thread-safe.
class TraceBuilder {
 public:
  // A life takes about 100 bytes, so a forged id costs at most 100 MB. An hour of 100 new
  // processes a second stays below.
  static constexpr std::uint32_t kMostLives = 1u << 20;
  // A recorder makes at most half of these.
  static constexpr std::uint32_t kMostStacks = 1u << 17;

  explicit TraceBuilder(const TraceBounds& bounds = {}, PartReader reader = {})
      : coarsener_(bounds), reader_(std::move(reader)), most_(bounds.program), next_(most_) {}

  // The table the string ids of taken events are of.
  [[nodiscard]] Strings& strings() { return trace_.strings; }
  [[nodiscard]] Manifest& manifest() { return trace_.manifest; }
  void setCleanEnd(bool clean) { trace_.cleanEnd = clean; }

  void take(const Event& event);
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
  ProcessLife* life(ProcessId id);
  ThreadLife* life(ThreadId id);
  void cover(Nanos begin, Nanos end);
  void settle();
  void readPart();

  Trace trace_;
  Coarsener coarsener_;
  PartReader reader_;
  std::size_t program_ = 0, most_, next_;  // rows of what the program did
  bool covered_ = false;
  std::uint64_t damaged_ = 0;
};

}  // namespace stallprof
